// Bounds of conv/*: oneDNN, forward and backward, in the layouts of images and kernels that it chooses
// itself, what it takes to bring them there and back counted, or in the given ones: the faster.
#include <cmath>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "report.hpp"

namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;

constexpr int images = 8, side = 56, channels = 64, window = 3;
constexpr auto direct = dnnl::algorithm::convolution_direct;
const memory::dims strides = {1, 1}, padding = {1, 1};

memory::desc described(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

/// As Apsis' side has it: sin(0.37 j²), j modulo 4093.
std::vector<float> waves(std::size_t size, double scale) {
  std::vector<float> numbers(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto j = static_cast<double>(i % 4093);
    numbers[i] = static_cast<float>(scale * std::sin(0.37 * j * j));
  }
  return numbers;
}

/// In several sums, as a compiler may not make of one.
double squares(const float* x, std::size_t size) {
  float sums[64] = {};
  for (std::size_t i = 0; i + 64 <= size; i += 64)
    for (std::size_t k = 0; k < 64; ++k) sums[k] += x[i + k] * x[i + k];
  for (std::size_t i = size / 64 * 64; i < size; ++i) sums[0] += x[i] * x[i];
  double sum = 0;
  for (const float s : sums) sum += s;
  return sum;
}

void move(dnnl::stream& s, memory from, memory to) { dnnl::reorder(from, to).execute(s, from, to); }

/// An array in the given layout, and in the one that a computation wants, which may be the same.
class Moved {
 public:
  Moved(const dnnl::engine& engine, const memory::desc& given, const memory::desc& wanted)
      : given_(given, engine), wanted_(given == wanted ? given_ : memory(wanted, engine)) {}
  float* data() const { return static_cast<float*>(given_.get_data_handle()); }
  std::size_t size() const { return given_.get_desc().get_size() / sizeof(float); }
  const memory& wanted() const { return wanted_; }
  void fill(const std::vector<float>& numbers) const { std::copy(numbers.begin(), numbers.end(), data()); }
  /// To the layout that is wanted, and back.
  void bring(dnnl::stream& s) const {
    if (given_ != wanted_) move(s, given_, wanted_);
  }
  void fetch(dnnl::stream& s) const {
    if (given_ != wanted_) move(s, wanted_, given_);
  }

 private:
  memory given_, wanted_;
};

/// The sum of squares, in thousands, of the results, with its gradients.
class Step {
 public:
  Step(dnnl::engine& engine, int groups, Tag images_tag)
      : image_given_(described({images, channels, side, side}, Tag::nhwc)),
        kernel_given_(groups == 1 ? described({channels, channels, window, window}, Tag::hwio)
                                  : described({groups, 1, 1, window, window}, Tag::hwigo)),
        image_(described({images, channels, side, side}, images_tag)),
        kernel_(described(kernel_given_.dims(), Tag::any)),
        forward_({{prop_kind::forward_training, direct, image_, kernel_, image_, strides, padding, padding},
                  engine}),
        to_images_({{direct, image_, kernel_, image_, strides, padding, padding}, engine, forward_}),
        to_kernel_({{direct, image_, kernel_, image_, strides, padding, padding}, engine, forward_}),
        x_(engine, image_given_, forward_.src_desc()),
        w_(engine, kernel_given_, forward_.weights_desc()),
        y_(engine, image_given_, forward_.dst_desc()),
        w_back_(engine, kernel_given_, to_images_.weights_desc()),
        x_back_(engine, image_given_, to_kernel_.src_desc()),
        dy_(engine, image_given_, to_images_.diff_dst_desc()),
        dy_back_(engine, image_given_, to_kernel_.diff_dst_desc()),
        dx_(engine, image_given_, to_images_.diff_src_desc()),
        dw_(engine, kernel_given_, to_kernel_.diff_weights_desc()),
        stream_(engine),
        run_forward_(forward_),
        run_to_images_(to_images_),
        run_to_kernel_(to_kernel_) {
    const std::vector<float> x = waves(x_.size(), 1), w = waves(w_.size(), 0.1);
    x_.fill(x);
    x_back_.fill(x);
    w_.fill(w);
    w_back_.fill(w);
  }

  std::vector<double> run() {
    x_.bring(stream_);
    w_.bring(stream_);
    run_forward_.execute(
        stream_, {{DNNL_ARG_SRC, x_.wanted()}, {DNNL_ARG_WEIGHTS, w_.wanted()}, {DNNL_ARG_DST, y_.wanted()}});
    y_.fetch(stream_);
    stream_.wait();
    const std::size_t size = y_.size();
    const float* const y = y_.data();
    float* const dy = dy_.data();
    for (std::size_t i = 0; i < size; ++i) dy[i] = y[i] * 0.002F;
    dy_.bring(stream_);
    w_back_.bring(stream_);
    run_to_images_.execute(stream_, {{DNNL_ARG_DIFF_DST, dy_.wanted()},
                                     {DNNL_ARG_WEIGHTS, w_back_.wanted()},
                                     {DNNL_ARG_DIFF_SRC, dx_.wanted()}});
    dx_.fetch(stream_);
    x_back_.bring(stream_);
    const bool shared = dy_.wanted().get_desc() == dy_back_.wanted().get_desc();
    if (!shared) move(stream_, dy_.wanted(), dy_back_.wanted());
    run_to_kernel_.execute(stream_, {{DNNL_ARG_SRC, x_back_.wanted()},
                                     {DNNL_ARG_DIFF_DST, shared ? dy_.wanted() : dy_back_.wanted()},
                                     {DNNL_ARG_DIFF_WEIGHTS, dw_.wanted()}});
    dw_.fetch(stream_);
    stream_.wait();
    return {squares(y, size) / 1000, squares(dx_.data(), dx_.size()), squares(dw_.data(), dw_.size())};
  }

 private:
  memory::desc image_given_, kernel_given_, image_, kernel_;
  convolution_forward::primitive_desc forward_;
  convolution_backward_data::primitive_desc to_images_;
  convolution_backward_weights::primitive_desc to_kernel_;
  Moved x_, w_, y_, w_back_, x_back_, dy_, dy_back_, dx_, dw_;
  dnnl::stream stream_;
  convolution_forward run_forward_;
  convolution_backward_data run_to_images_;
  convolution_backward_weights run_to_kernel_;
};

void measure(const char* name, int groups) {
  dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  double least = 0;
  std::vector<double> answer;
  for (const Tag images_tag : {Tag::any, Tag::nhwc}) {
    Step step(engine, groups, images_tag);
    const double seconds = limits::median_seconds(15, [&] { answer = step.run(); });
    if (least == 0 || seconds < least) least = seconds;
  }
  limits::report(name, "us", least * 1e6, answer);
}

}  // namespace

int main() {
  // One thread, as the row has it.
  setenv("OMP_NUM_THREADS", "1", 1);
  measure("conv/resnet", 1);
  measure("conv/depthwise", channels);
}
