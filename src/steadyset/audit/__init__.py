"""After training: what a left-out row changes, measured from the bags that were drawn, and what is proved of it."""

from steadyset.audit._certificates import CertificateOverview, Certificates, CertifyRun, anytime_alpha, certify
from steadyset.audit._covering import CoveragePromise, CoveringPromise, CoveringRun
from steadyset.audit._left_out import LeftOut, drawn_rows
from steadyset.audit._near_rows import Margin, NearAudit, NearAuditRun, NearModels, RankedShifts, audit_near_rows
from steadyset.audit._refits import audit_models
from steadyset.audit._reuse import AuditOptions, AuditRun, audit_bags, audit_groups
from steadyset.audit._stability_audit import StabilityAudit, survival
from steadyset.audit._tail_stability import tail_stability
from steadyset.audit._tally import ShiftBoard
from steadyset.audit._votes import audit_votes

__all__ = [
    "AuditOptions",
    "AuditRun",
    "CertificateOverview",
    "Certificates",
    "CertifyRun",
    "CoveragePromise",
    "CoveringPromise",
    "CoveringRun",
    "LeftOut",
    "Margin",
    "NearAudit",
    "NearAuditRun",
    "NearModels",
    "RankedShifts",
    "ShiftBoard",
    "StabilityAudit",
    "anytime_alpha",
    "audit_bags",
    "audit_groups",
    "audit_models",
    "audit_near_rows",
    "audit_votes",
    "certify",
    "drawn_rows",
    "survival",
    "tail_stability",
]
