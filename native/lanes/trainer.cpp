#include "lanes/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "lanes/random.hpp"

namespace steadyset::lanes {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Zeroed floats: the padding of tensors and weights must be zero. A large block asks for huge pages, because scattered
// small ones crowd some sets of the second-level cache and end the prefetching of a stream every 4 KB. Gigabytes take
// seconds where the memory is new to the machine: `stop` ends it before all are zero.
class Aligned {
 public:
  explicit Aligned(int64_t count, const int* stop = nullptr) {
    constexpr size_t huge_page = size_t{1} << 21;
    const size_t used = static_cast<size_t>(std::max<int64_t>(count, 1)) * sizeof(float);
    const size_t alignment = used > huge_page / 2 ? huge_page : 64;
    const size_t bytes = (used + alignment - 1) / alignment * alignment;
    alignment_ = std::align_val_t{alignment};
    data_ = static_cast<float*>(::operator new(bytes, alignment_));
#ifdef MADV_HUGEPAGE
    if (alignment == huge_page) madvise(data_, bytes, MADV_HUGEPAGE);
#endif
    constexpr size_t piece = size_t{1} << 26;
    for (size_t from = 0; from < used; from += piece) {
      if (stop != nullptr && __atomic_load_n(stop, __ATOMIC_RELAXED)) return;
      std::memset(reinterpret_cast<char*>(data_) + from, 0, std::min(piece, used - from));
    }
  }
  ~Aligned() { ::operator delete(data_, alignment_); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  float* get() { return data_; }

 private:
  float* data_;
  std::align_val_t alignment_;
};

// All that unit.cpp works on, for batches of up to `vectors` sample vectors: arrays of one block.
struct Workspace {
  Workspace(const Network& network, int64_t vectors, int lanes, bool training, bool adam, const int* stop)
      : net(network.net()) {
    const int64_t parameters = net.n_parameters * kModels, values = vectors * net.arena * lanes;
    float* indices = nullptr;
    const std::pair<float**, int64_t> arrays[] = {
        {&memory.weights, parameters},
        {&memory.first, training ? parameters : 0},
        {&memory.second, adam ? parameters : 0},
        {&memory.at_points, net.n_at_points * kModels},
        {&memory.values, values},
        {&memory.gradients, training ? values : 0},
        {&memory.scratch, std::max(net.scratch, training ? 2 * vectors * kOutputBlock : 0) * lanes},
        {&memory.parameter_gradient, training ? network.largest_conv() * kModels : 0},
        {&memory.masks, training ? vectors * net.n_dropout * lanes : 0},
        {&indices, vectors * net.index_arena * lanes},
    };
    int64_t total = 0;
    for (const auto& [place, count] : arrays) total += ceil_div(count, kMaxLanes) * kMaxLanes;
    memory.stop = stop;
    block_ = std::make_unique<Aligned>(total, stop);
    float* next = block_->get();
    for (const auto& [place, count] : arrays) {
      *place = next;
      next += ceil_div(count, kMaxLanes) * kMaxLanes;
    }
    memory.indices = reinterpret_cast<int32_t*>(indices);
  }

  Net net;
  Memory memory{};

 private:
  std::unique_ptr<Aligned> block_;
};

// Mean and standard deviation over a bag's rows; a constant feature is left unscaled, as scikit-learn does.
template <class Number>
void standard_statistics(const Number* x, const Bag& bag, int64_t row_size, float* center, float* scale, const Watch& watch) {
  std::vector<double> sum(row_size), squares(row_size);
  const auto go_on = [&] { return !__atomic_load_n(&watch.stop, __ATOMIC_RELAXED); };
  for (int64_t i = 0; i < bag.n_rows && go_on(); ++i)
    for (int64_t f = 0; f < row_size; ++f) sum[f] += static_cast<double>(x[bag.rows[i] * row_size + f]);
  for (double& s : sum) s /= static_cast<double>(bag.n_rows);
  for (int64_t i = 0; i < bag.n_rows && go_on(); ++i)
    for (int64_t f = 0; f < row_size; ++f) {
      const double d = static_cast<double>(x[bag.rows[i] * row_size + f]) - sum[f];
      squares[f] += d * d;
    }
  for (int64_t f = 0; f < row_size; ++f) {
    const double deviation = std::sqrt(squares[f] / static_cast<double>(bag.n_rows));
    center[f] = static_cast<float>(sum[f]);
    scale[f] = deviation > 1e-7 * std::abs(sum[f]) && deviation > 1e-30 ? static_cast<float>(1.0 / deviation) : 1.0f;
  }
}

// Where one model stands in its own epochs: bags of unequal size end theirs at different steps.
class Walk {
 public:
  Walk(const Bag& bag, const Recipe& recipe)
      : bag_(bag), batch_(recipe.batch_size), epochs_(static_cast<int>(recipe.rates.size())), order_(bag.n_rows) {
    begin_epoch();
  }

  bool done() const { return epoch_ == epochs_; }
  int epoch() const { return epoch_; }
  int64_t count() const { return std::min(batch_, bag_.n_rows - at_); }
  int64_t row(int64_t i) const { return bag_.rows[order_[at_ + i]]; }
  int64_t seen() const { return epoch_ * bag_.n_rows + at_; }
  bool at_last_batch() const { return epoch_ + 1 == epochs_ && at_ + count() == bag_.n_rows; }

  void advance() {
    at_ += count();
    if (at_ < bag_.n_rows) return;
    ++epoch_;
    if (!done()) begin_epoch();
  }

 private:
  void begin_epoch() {
    at_ = 0;
    if (bag_.order != nullptr) {
      std::copy_n(bag_.order + epoch_ * bag_.n_rows, bag_.n_rows, order_.begin());
      return;
    }
    std::iota(order_.begin(), order_.end(), int64_t{0});
    Stream stream(key(bag_.seed, Purpose::shuffle, static_cast<uint64_t>(epoch_)));
    for (int64_t i = bag_.n_rows - 1; i > 0; --i) std::swap(order_[i], order_[stream.below(static_cast<uint64_t>(i) + 1)]);
  }

  const Bag& bag_;
  int64_t batch_;
  int epochs_, epoch_ = 0;
  int64_t at_ = 0;
  std::vector<int64_t> order_;
};

class Group {
 public:
  Group(const Network& network, const Data& data, const std::vector<Bag>& bags, const Recipe& recipe, Watch& watch)
      : network_(network), data_(data), bags_(bags), recipe_(recipe), watch_(watch), unit_(hot_unit()),
        samples_(unit_.lanes / kModels), vectors_(ceil_div(largest_batch(), samples_)),
        space_(network, vectors_, unit_.lanes, true, recipe.optimizer == Optimizer::adam, &watch.stop),
        rows_(vectors_ * kMaxLanes), mask_keys_(vectors_ * kMaxLanes), labels_(vectors_ * kMaxLanes),
        shares_(vectors_ * kMaxLanes), logits_(vectors_ * network.n_classes() * unit_.lanes) {
    for (size_t m = 0; m < bags.size(); ++m) walks_.emplace_back(bags[m], recipe);
    outcome_.losses.assign(bags.size() * recipe.rates.size(), 0.0f);
    outcome_.parameters.resize(bags.size() * network.n_parameters());
    outcome_.first_moments.resize(bags.size() * network.n_parameters());
    start_weights();
    if (recipe.scaling.kind == Scaling::Kind::standard) standardise();
  }

  Outcome run() {
    alignas(16) float losses[kModels];
    for (int64_t step = 1; running(); ++step) {
      if (__atomic_load_n(&watch_.stop, __ATOMIC_RELAXED)) {
        outcome_.stopped = true;
        return std::move(outcome_);
      }
      const Batch batch = next_batch(step);
      unit_.step(space_.net, space_.memory, batch, next_update(step), losses);
      if (!record(losses, batch, step)) return std::move(outcome_);
    }
    return std::move(outcome_);
  }

 private:
  int64_t largest_batch() const {
    int64_t rows = 1;
    for (const Bag& bag : bags_) rows = std::max(rows, bag.n_rows);
    return std::min(rows, recipe_.batch_size);
  }

  bool running() const {
    return std::any_of(walks_.begin(), walks_.end(), [](const Walk& walk) { return !walk.done(); });
  }

  void start_weights() {
    std::vector<float> drawn(network_.n_parameters());
    for (size_t m = 0; m < bags_.size(); ++m) {
      if (bags_[m].start == nullptr) network_.draw(bags_[m].seed, drawn.data());
      network_.pack(bags_[m].start ? bags_[m].start : drawn.data(), static_cast<int>(m), space_.memory.weights);
    }
  }

  void standardise() {
    const int64_t size = network_.row_size();
    outcome_.center.resize(bags_.size() * size);
    outcome_.scale.resize(bags_.size() * size);
    centers_ = std::make_unique<Aligned>(size * kModels);
    scales_ = std::make_unique<Aligned>(size * kModels);
    for (size_t m = 0; m < bags_.size(); ++m) {
      float* center = outcome_.center.data() + m * size;
      float* scale = outcome_.scale.data() + m * size;
      if (data_.x_is_uint8) standard_statistics(static_cast<const uint8_t*>(data_.x), bags_[m], size, center, scale, watch_);
      else standard_statistics(static_cast<const float*>(data_.x), bags_[m], size, center, scale, watch_);
      for (int64_t f = 0; f < size; ++f) {
        centers_->get()[f * kModels + m] = center[f];
        scales_->get()[f * kModels + m] = scale[f];
      }
    }
  }

  // A lane without a sample repeats the first row of its model's batch with share 0: a bag sees no row but its own.
  Batch next_batch(int64_t step) {
    int64_t most = 1;
    for (const Walk& walk : walks_)
      if (!walk.done()) most = std::max(most, walk.count());
    const int64_t vectors = ceil_div(most, samples_);
    for (int m = 0; m < kModels; ++m) {
      const bool real = m < static_cast<int>(walks_.size());
      const Walk& walk = walks_[real ? m : 0];
      const int64_t count = real && !walk.done() ? walk.count() : 0;
      for (int64_t i = 0; i < vectors * samples_; ++i) {
        const int64_t lane = i / samples_ * kMaxLanes + i % samples_ * kModels + m;
        rows_[lane] = walk.done() ? bags_[real ? m : 0].rows[0] : walk.row(i < count ? i : 0);
        labels_[lane] = data_.labels[rows_[lane]];
        shares_[lane] = i < count ? 1.0f / static_cast<float>(count) : 0.0f;
        if (data_.weights != nullptr) shares_[lane] *= data_.weights[rows_[lane]];
        if (i < count && space_.net.n_dropout) drop(m, i, lane, step);
      }
    }
    const Scaling& s = recipe_.scaling;
    return {data_.x, data_.x_is_uint8, network_.row_size(), scales_ ? scales_->get() : nullptr,
            centers_ ? centers_->get() : nullptr, s.scale, s.shift, static_cast<int>(vectors), rows_.data(), labels_.data(),
            shares_.data(), space_.net.n_dropout && bags_[0].masks == nullptr ? mask_keys_.data() : nullptr};
  }

  void drop(int m, int64_t i, int64_t lane, int64_t step) {
    const Bag& bag = bags_[m];
    mask_keys_[lane] = key(bag.seed, Purpose::dropout, static_cast<uint64_t>(step), static_cast<uint64_t>(i));
    if (bag.masks == nullptr) return;
    const int64_t n = space_.net.n_dropout;
    const uint8_t* given = bag.masks + (walks_[m].seen() + i) * n;
    for (int o = 0; o < space_.net.n_ops; ++o) {
      const Op& op = space_.net.ops[o];
      if (op.kind != Kind::dropout) continue;
      const Tensor& t = space_.net.tensors[op.in];
      for (int64_t f = op.mask; f < op.mask + int64_t(t.channels) * t.height * t.width; ++f)
        space_.memory.masks[(i / samples_ * n + f) * unit_.lanes + i % samples_ * kModels + m] =
            given[f] ? 1.0f / (1.0f - op.rate) : 0.0f;
    }
  }

  Update next_update(int64_t step) const {
    Update u{};
    u.kind = recipe_.optimizer;
    u.momentum = recipe_.momentum;
    u.weight_decay = recipe_.weight_decay;
    u.nesterov = recipe_.nesterov;
    u.beta1 = recipe_.beta1;
    u.beta2 = recipe_.beta2;
    u.epsilon = recipe_.epsilon;
    const double t = static_cast<double>(step);
    for (int m = 0; m < kModels; ++m) {
      const bool real = m < static_cast<int>(walks_.size()) && !walks_[m].done();
      u.rate[m] = real ? recipe_.rates[walks_[m].epoch()] : 0.0f;
      if (u.kind != Optimizer::adam) continue;
      u.correction1[m] = static_cast<float>(1.0 - std::pow(static_cast<double>(recipe_.beta1), t));
      u.correction2[m] = static_cast<float>(std::sqrt(1.0 - std::pow(static_cast<double>(recipe_.beta2), t)));
    }
    return u;
  }

  bool record(const float* losses, const Batch& batch, int64_t step) {
    if (std::any_of(walks_.begin(), walks_.end(), [](const Walk& walk) { return walk.at_last_batch(); }))
      unit_.logits(space_.net, space_.memory, batch, logits_.get());
    int least = static_cast<int>(recipe_.rates.size());
    for (size_t m = 0; m < walks_.size(); ++m) {
      Walk& walk = walks_[m];
      if (!walk.done()) {
        if (!std::isfinite(losses[m]) || (walk.at_last_batch() && !collect(m))) {
          outcome_.diverged_bag = static_cast<int>(m);
          outcome_.diverged_step = step;
          return false;
        }
        const float share = static_cast<float>(walk.count()) / static_cast<float>(bags_[m].n_rows);
        outcome_.losses[m * recipe_.rates.size() + walk.epoch()] += losses[m] * share;
        walk.advance();
      }
      least = std::min(least, walk.epoch());
    }
    __atomic_store_n(&watch_.epochs, least, __ATOMIC_RELAXED);
    return true;
  }

  // A bag that is done keeps its place beside the others, but not its weights: they are taken here, after its last step.
  // That step has no loss after it, so its weights and what they make of its batch are looked at; false: not all finite.
  bool collect(size_t m) {
    const int64_t n = network_.n_parameters(), n_classes = network_.n_classes();
    float* weights = outcome_.parameters.data() + m * n;
    network_.unpack(space_.memory.weights, static_cast<int>(m), weights);
    network_.unpack(space_.memory.first, static_cast<int>(m), outcome_.first_moments.data() + m * n);
    const auto finite = [](float value) { return std::isfinite(value); };
    if (!std::all_of(weights, weights + n, finite)) return false;
    for (int64_t i = 0; i < walks_[m].count(); ++i)
      for (int64_t c = 0; c < n_classes; ++c)
        if (!finite(logits_.get()[(i / samples_ * n_classes + c) * unit_.lanes + i % samples_ * kModels + m])) return false;
    return true;
  }

  const Network& network_;
  const Data& data_;
  const std::vector<Bag>& bags_;
  const Recipe& recipe_;
  Watch& watch_;
  const HotUnit& unit_;
  int64_t samples_, vectors_;
  Workspace space_;
  std::vector<int64_t> rows_;
  std::vector<uint64_t> mask_keys_;
  std::vector<int32_t> labels_;
  std::vector<float> shares_;
  Aligned logits_;
  std::unique_ptr<Aligned> centers_, scales_;
  std::vector<Walk> walks_;
  Outcome outcome_;
};

}  // namespace

Outcome train(const Network& network, const Data& data, const std::vector<Bag>& bags, const Recipe& recipe, Watch& watch) {
  return Group(network, data, bags, recipe, watch).run();
}

void predict(const Network& network, const float* parameters, int n_models, const void* x, bool x_is_uint8, int64_t n,
             const Scaling& scaling, const float* center, const float* scale, double* out, int64_t model_stride, Watch& watch,
             Poll poll) {
  const HotUnit& unit = hot_unit();
  const int samples = unit.lanes / kModels;
  const int64_t vectors = std::min<int64_t>(6, ceil_div(n, samples));
  Workspace space(network, vectors, unit.lanes, false, false, &watch.stop);
  const int64_t size = network.row_size(), n_classes = network.n_classes();
  Aligned centers(center ? size * kModels : 0), scales(center ? size * kModels : 0);
  const auto go_on = [&] { return !__atomic_load_n(&watch.stop, __ATOMIC_RELAXED) && !poll.ask(poll.whom); };
  for (int m = 0; m < n_models && go_on(); ++m) {
    network.pack(parameters + m * network.n_parameters(), m, space.memory.weights);
    for (int64_t f = 0; center != nullptr && f < size; ++f) {
      centers.get()[f * kModels + m] = center[m * size + f];
      scales.get()[f * kModels + m] = scale[m * size + f];
    }
  }
  std::vector<int64_t> rows(vectors * kMaxLanes);
  Aligned logits(vectors * n_classes * unit.lanes);
  for (int64_t first = 0; first < n && go_on(); first += vectors * samples) {
    const int64_t count = std::min(vectors * samples, n - first);
    const int64_t used = ceil_div(count, samples);
    for (int64_t i = 0; i < used * samples; ++i)
      for (int m = 0; m < kModels; ++m)
        rows[i / samples * kMaxLanes + i % samples * kModels + m] = first + std::min(i, count - 1);
    const Batch batch{x, x_is_uint8, size, center ? scales.get() : nullptr, center ? centers.get() : nullptr, scaling.scale,
                      scaling.shift, static_cast<int>(used), rows.data(), nullptr, nullptr, nullptr};
    unit.logits(space.net, space.memory, batch, logits.get());
    for (int m = 0; m < n_models; ++m)
      for (int64_t i = 0; i < count; ++i) {
        const float* score = logits.get() + i / samples * n_classes * unit.lanes + i % samples * kModels + m;
        double* to = out + m * model_stride + (first + i) * n_classes;
        double top = score[0], sum = 0;
        bool finite = true;
        for (int64_t c = 0; c < n_classes; ++c) {
          finite = finite && std::isfinite(score[c * unit.lanes]);
          top = std::max<double>(top, score[c * unit.lanes]);
        }
        if (!finite) {  // the caller is to say which point of which model
          std::fill_n(to, n_classes, std::numeric_limits<double>::quiet_NaN());
          continue;
        }
        for (int64_t c = 0; c < n_classes; ++c) sum += to[c] = std::exp(static_cast<double>(score[c * unit.lanes]) - top);
        for (int64_t c = 0; c < n_classes; ++c) to[c] /= sum;
      }
  }
}

}  // namespace steadyset::lanes
