// Convolution with stride 1: forward, gradient of the input, gradient of the weights. Tiles of outputs stay in registers.
#pragma once
#include "lanes/vec.hpp"

namespace steadyset::lanes {
namespace STEADYSET_LEVEL {
namespace {

// A stack of images in memory: distance of rows and of channels, in vectors.
struct Images {
  int64_t row, channel;
};

struct Range {
  int first, last;
};

constexpr int64_t kCachedVectors = 32768 / (kLanes * 4);  // what may stay in a first-level cache of 48 KB beside the rest

struct ConvShape {
  int in_channels, out_channels, kernel_height, kernel_width, out_height, out_width;
  Images in, out;
};

LANES_INLINE const float* weight_at(const float* w, const ConvShape& c, int oc, int ic, int kh, int kw) {
  return w + kModels * (((int64_t(oc) * c.in_channels + ic) * c.kernel_height + kh) * c.kernel_width + kw);
}

// y[b][t] for kOut output channels and kWide neighbouring columns of one row.
template <int kOut, int kWide>
LANES_INLINE void forward_tile(const ConvShape& c, const float* w, const float* bias, const Vec* x, Vec* y, bool relu) {
  Vec sum[kOut][kWide];
#pragma GCC unroll 8
  for (int b = 0; b < kOut; ++b)
#pragma GCC unroll 8
    for (int t = 0; t < kWide; ++t) sum[b][t] = spread(bias + b * kModels);
  const int64_t per_output = int64_t(kModels) * c.in_channels * c.kernel_height * c.kernel_width;
  for (int ic = 0; ic < c.in_channels; ++ic) {
    for (int kh = 0; kh < c.kernel_height; ++kh) {
      const Vec* row = x + ic * c.in.channel + kh * c.in.row;
      for (int kw = 0; kw < c.kernel_width; ++kw, w += kModels) {
        Vec tap[kOut];
        for (int b = 0; b < kOut; ++b) tap[b] = spread(w + b * per_output);
        for (int t = 0; t < kWide; ++t) {
          Vec value = once(row[kw + t]);
          for (int b = 0; b < kOut; ++b) sum[b][t] += tap[b] * value;
        }
      }
    }
  }
  const Vec zero = zero_here();
#pragma GCC unroll 8
  for (int b = 0; b < kOut; ++b)
#pragma GCC unroll 8
    for (int t = 0; t < kWide; ++t) y[b * c.out.channel + t] = relu ? larger(zero, sum[b][t]) : sum[b][t];
}

template <int kOut, int kWide>
void forward_row(const ConvShape& c, const float* w, const float* bias, const Vec* x, Vec* y, bool relu) {
  int col = 0;
  for (; col + kWide <= c.out_width; col += kWide) forward_tile<kOut, kWide>(c, w, bias, x + col, y + col, relu);
  for (; col + 4 <= c.out_width; col += 4) forward_tile<kOut, 4>(c, w, bias, x + col, y + col, relu);
  for (; col < c.out_width; ++col) forward_tile<kOut, 1>(c, w, bias, x + col, y + col, relu);
}

// How many of the remaining channels to take together, at most kConvBlock: as few loads per multiply-add as the registers allow.
LANES_INLINE int forward_channels(const ConvShape& c, int left) {
  if (kRegisters == 32 && c.out_channels % 3 == 0 && c.out_width >= 8) return 3;
  if (kRegisters == 32 && left >= 4) return 4;
  if (left == 3 || left > 4) return 3;  // 12 sums, 3 taps and a value fill 16 registers, and 12 sums hide what one waits for
  return left >= 2 ? 2 : 1;
}

// Rows [rows.first, rows.last) of some output channels; y points to the first of these rows.
void forward_rows(const ConvShape& c, const float* w, const float* bias, const Vec* x, Vec* y, int channels, Range rows,
                  bool relu) {
  constexpr int wide = kRegisters == 32 ? 8 : 4;
  for (int row = rows.first; row < rows.last; ++row) {
    const Vec* in = x + row * c.in.row;
    Vec* out = y + (row - rows.first) * c.out.row;
    if (channels == 4) forward_row<4, 4>(c, w, bias, in, out, relu);
    else if (channels == 3) forward_row<3, wide>(c, w, bias, in, out, relu);
    else if (channels == 2) forward_row<2, wide>(c, w, bias, in, out, relu);
    else forward_row<1, wide>(c, w, bias, in, out, relu);
  }
}

// Adds to kWide + kTaps - 1 columns of one input row, for kIn input channels, what kWide output columns send back
// through the taps [kw, kw + kTaps) of every kernel row.
template <int kIn, int kWide, int kTaps>
LANES_INLINE void input_tile(const ConvShape& c, const float* w, Range outputs, int ic, int row, int kw, const Vec* dy,
                             Vec* dx) {
  Vec sum[kIn][kWide + kTaps - 1];
#pragma GCC unroll 8
  for (int b = 0; b < kIn; ++b)
#pragma GCC unroll 16
    for (int t = 0; t < kWide + kTaps - 1; ++t) sum[b][t] = dx[b * c.in.channel + t];
  int from = row - c.out_height + 1 > 0 ? row - c.out_height + 1 : 0;
  int to = row < c.kernel_height - 1 ? row : c.kernel_height - 1;
  const int64_t per_input = int64_t(kModels) * c.kernel_height * c.kernel_width;
  const int64_t per_output = per_input * c.in_channels;
  for (int kh = from; kh <= to; ++kh) {
    const float* taps = weight_at(w, c, outputs.first, ic, kh, kw);
    const Vec* sent = dy + outputs.first * c.out.channel + (row - kh) * c.out.row;
    for (int oc = outputs.first; oc < outputs.last; ++oc, taps += per_output, sent += c.out.channel) {
      if constexpr (kRegisters == 16 && kIn == 2 && kWide == 2) {
        Vec values[kWide];
        for (int t = 0; t < kWide; ++t) values[t] = once(sent[t]);
#pragma GCC unroll 8
        for (int k = 0; k < kTaps; ++k)
          for (int b = 0; b < kIn; ++b) {
            const Vec tap = once(spread(taps + b * per_input + k * kModels));
            for (int t = 0; t < kWide; ++t) sum[b][t + k] += tap * values[t];
          }
      } else if constexpr (kIn * (kWide + kTaps - 1) + kTaps >= kRegisters) {
        // Tap by tap: no sum waits for the product before it, and the values come straight from the cache.
#pragma GCC unroll 8
        for (int k = 0; k < kTaps; ++k)
          for (int b = 0; b < kIn; ++b) {
            const Vec tap = once(spread(taps + b * per_input + k * kModels));
            const Vec* values = again(sent);
#pragma GCC unroll 8
            for (int t = 0; t < kWide; ++t) sum[b][t + k] += tap * values[t];
          }
      } else {
        Vec tap[kTaps][kIn];
        for (int k = 0; k < kTaps; ++k)
          for (int b = 0; b < kIn; ++b) tap[k][b] = spread(taps + b * per_input + k * kModels);
#pragma GCC unroll 8
        for (int t = 0; t < kWide; ++t) {
          Vec value = once(sent[t]);
#pragma GCC unroll 8
          for (int k = 0; k < kTaps; ++k)
            for (int b = 0; b < kIn; ++b) sum[b][t + k] += tap[k][b] * value;
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int b = 0; b < kIn; ++b)
#pragma GCC unroll 16
    for (int t = 0; t < kWide + kTaps - 1; ++t) dx[b * c.in.channel + t] = sum[b][t];
}

template <int kIn, int kTaps>
void input_row(const ConvShape& c, const float* w, Range outputs, int ic, int row, int kw, const Vec* dy, Vec* dx) {
  constexpr int wide = 4;
  dx += ic * c.in.channel + row * c.in.row + kw;
  int col = 0;
  if (kRegisters == 16 && kIn == 2) {
    for (; col + 2 <= c.out_width; col += 2) input_tile<kIn, 2, kTaps>(c, w, outputs, ic, row, kw, dy + col, dx + col);
    for (; col < c.out_width; ++col) input_tile<kIn, 1, kTaps>(c, w, outputs, ic, row, kw, dy + col, dx + col);
    return;
  }
  if (kRegisters == 16)
    for (; col + 8 <= c.out_width; col += 8) input_tile<kIn, 8, kTaps>(c, w, outputs, ic, row, kw, dy + col, dx + col);
  for (; col + wide <= c.out_width; col += wide) input_tile<kIn, wide, kTaps>(c, w, outputs, ic, row, kw, dy + col, dx + col);
  for (; col + 2 <= c.out_width; col += 2) input_tile<kIn, 2, kTaps>(c, w, outputs, ic, row, kw, dy + col, dx + col);
  for (; col < c.out_width; ++col) input_tile<kIn, 1, kTaps>(c, w, outputs, ic, row, kw, dy + col, dx + col);
}

template <int kIn>
void input_channels(const ConvShape& c, const float* w, Range outputs, int ic, const Vec* dy, Vec* dx) {
  for (int row = 0; row < c.out_height + c.kernel_height - 1; ++row) {
    int kw = 0;
    for (; kw + 5 <= c.kernel_width; kw += 5) input_row<kIn, 5>(c, w, outputs, ic, row, kw, dy, dx);
    for (; kw + 3 <= c.kernel_width; kw += 3) input_row<kIn, 3>(c, w, outputs, ic, row, kw, dy, dx);
    for (; kw < c.kernel_width; ++kw) input_row<kIn, 1>(c, w, outputs, ic, row, kw, dy, dx);
  }
}

// dx += the gradient of the input; dx has the padded shape of the input. As many output channels are taken at a time
// as the first-level cache holds.
void add_input_gradient(const ConvShape& c, const float* w, const Vec* dy, Vec* dx) {
  const int block = kRegisters == 32 || c.kernel_width % 5 == 0 ? 2 : 1;
  const int64_t fits = kCachedVectors / (int64_t(c.out_height) * c.out_width);
  const int together = fits > 1 ? int(fits < c.out_channels ? fits : c.out_channels) : 1;
  for (int oc = 0; oc < c.out_channels; oc += together) {
    const Range outputs{oc, oc + together < c.out_channels ? oc + together : c.out_channels};
    int ic = 0;
    if (block == 2)
      for (; ic + 2 <= c.in_channels; ic += 2) input_channels<2>(c, w, outputs, ic, dy, dx);
    for (; ic < c.in_channels; ++ic) input_channels<1>(c, w, outputs, ic, dy, dx);
  }
}

// Adds what kColumns neighbouring columns send to kTaps weights of kOut output channels.
template <int kOut, int kTaps, int kColumns>
LANES_INLINE void weight_columns(const ConvShape& c, const Vec* x, const Vec* dy, Vec (&sum)[kOut][kTaps]) {
  Vec back[kColumns][kOut];
  for (int j = 0; j < kColumns; ++j)
    for (int b = 0; b < kOut; ++b) back[j][b] = dy[b * c.out.channel + j];
#pragma GCC unroll 16
  for (int k = 0; k < kTaps + kColumns - 1; ++k) {
    Vec value = once(x[k]);
    for (int j = 0; j < kColumns; ++j)
      for (int b = 0; b < kOut; ++b)
        if (k - j >= 0 && k - j < kTaps) sum[b][k - j] += back[j][b] * value;
  }
}

// Adds the gradient of kTaps weights of one kernel row of kOut output channels, summed over all positions and samples.
template <int kOut, int kTaps>
LANES_INLINE void weight_tile(const ConvShape& c, const Vec* x, const Vec* dy, float* dw) {
  Vec sum[kOut][kTaps] = {};
  for (int row = 0; row < c.out_height; ++row) {
    const Vec* in = x + row * c.in.row;
    const Vec* sent = dy + row * c.out.row;
    int col = 0;
    for (; col + 2 <= c.out_width; col += 2) weight_columns<kOut, kTaps, 2>(c, in + col, sent + col, sum);
    for (; col < c.out_width; ++col) weight_columns<kOut, kTaps, 1>(c, in + col, sent + col, sum);
  }
  const int64_t per_output = int64_t(kModels) * c.in_channels * c.kernel_height * c.kernel_width;
#pragma GCC unroll 8
  for (int b = 0; b < kOut; ++b) add_over_samples<kTaps>(&sum[b][0], dw + b * per_output);
}

template <int kOut>
void weight_rows(const ConvShape& c, const Vec* x, const Vec* dy, float* dw) {
  for (int kh = 0; kh < c.kernel_height; ++kh) {
    const Vec* in = x + kh * c.in.row;
    float* row = dw + int64_t(kh) * c.kernel_width * kModels;
    int kw = 0;
    for (; kw + 5 <= c.kernel_width; kw += 5) weight_tile<kOut, 5>(c, in + kw, dy, row + kw * kModels);
    for (; kw + 3 <= c.kernel_width; kw += 3) weight_tile<kOut, 3>(c, in + kw, dy, row + kw * kModels);
    for (; kw < c.kernel_width; ++kw) weight_tile<kOut, 1>(c, in + kw, dy, row + kw * kModels);
  }
}

// Gradient of the kernels between one input channel and the output channels in the range; dy starts at the first of them.
void add_kernel_gradients(const ConvShape& c, Range outputs, int ic, const Vec* x, const Vec* dy, float* dw) {
  const int64_t per_kernel = int64_t(kModels) * c.kernel_height * c.kernel_width;
  for (int oc = outputs.first, taken; oc < outputs.last; oc += taken) {
    const int left = outputs.last - oc;
    const Vec* sent = dy + (oc - outputs.first) * c.out.channel;
    float* out = dw + (int64_t(oc) * c.in_channels + ic) * per_kernel;
    taken = kRegisters == 32 && left >= 4 ? 4 : (left >= 2 ? 2 : 1);
    if (kRegisters == 32 && taken == 4) weight_rows<4>(c, x, sent, out);
    else if (taken == 2) weight_rows<2>(c, x, sent, out);
    else weight_rows<1>(c, x, sent, out);
  }
}

void add_bias_gradient(const ConvShape& c, Range outputs, const Vec* dy, float* db) {
  for (int oc = outputs.first; oc < outputs.last; ++oc) {
    Vec sum = {};
    const Vec* sent = dy + (oc - outputs.first) * c.out.channel;
    for (int row = 0; row < c.out_height; ++row)
      for (int col = 0; col < c.out_width; ++col) sum += sent[row * c.out.row + col];
    add_over_samples<1>(&sum, db + oc * kModels);
  }
}

// Adds the gradients of all weights and biases of the output channels in the range, over c.out_height rows.
void add_weight_gradient(const ConvShape& c, Range outputs, const Vec* x, const Vec* dy, float* dw, float* db) {
  for (int ic = 0; ic < c.in_channels; ++ic) add_kernel_gradients(c, outputs, ic, x + ic * c.in.channel, dy, dw);
  add_bias_gradient(c, outputs, dy, db);
}

}  // namespace
}  // namespace STEADYSET_LEVEL
}  // namespace steadyset::lanes
