// Convolutions as implicit products: tiles of the result are summed in registers, and windows are read where
// they are. Only those that reach over an end of the array are copied, with the zeros around it.

#include "ops/convolution_kernel.hpp"

#include <algorithm>
#include <vector>

#include "ops/convolution_channel_sums.hpp"
#include "ops/convolution_tiles.hpp"
#include "ops/each_matrix.hpp"
#include "ops/kept_scratch.hpp"
#include "ops/matrix_panels.hpp"
#include "ops/matrix_tiles.hpp"

namespace apsis::detail {
namespace {

std::int64_t kernel_entries(const ConvolutionSizes& s) {
  return window_entries(s) * s.channels * s.groups * s.features;
}
/// Whether each channel is convolved for itself.
bool is_apart(const ConvolutionSizes& s) { return s.channels == 1 && s.features == 1 && s.groups > 1; }

/// Columns that tiles compute at once: `wide` of `width`.
struct Block {
  std::int64_t first, wide, width;
};
std::vector<Block> blocks_of(std::int64_t columns, std::int64_t lanes, bool halves) {
  std::vector<Block> blocks;
  for (std::int64_t at = 0; at < columns; at += 2 * lanes) {
    const std::int64_t rest = std::min(2 * lanes, columns - at);
    blocks.push_back({at, rest, halves && rest <= lanes ? lanes : 2 * lanes});
  }
  return blocks;
}

/// How results along an axis find entries of what they are gathered from: result first + i · step meets entry
/// i · stride + offset of each tap.
struct Reach {
  struct Tap {
    std::int64_t offset, window;
  };
  std::int64_t first, step, count, stride;
  std::vector<Tap> taps;  // in the order of their offsets
};
Reach reach_of_output(const ConvolutionAxis& a) {
  Reach reach{0, 1, a.output, a.stride, {}};
  for (std::int64_t k = 0; k < a.window; ++k) reach.taps.push_back({k * a.dilation - a.low, k});
  return reach;
}
/// Of the entries phase, phase + stride, … of the input.
Reach reach_of_input(const ConvolutionAxis& a, std::int64_t phase) {
  Reach reach{phase, a.stride, (a.input - phase + a.stride - 1) / a.stride, 1, {}};
  for (std::int64_t k = a.window; k-- > 0;)
    if (const std::int64_t at = phase + a.low - k * a.dilation; at % a.stride == 0)
      reach.taps.push_back({at / a.stride, k});
  return reach;
}

/// The output, or some entries of the input: results that gather what their windows hold.
template <class T>
class Gathering {
 public:
  Gathering(const ConvolutionSizes& s, ConvolutionArray result, const ConvolutionTiles<T>& tiles,
            std::array<Reach, 3> reach)
      : s_(s),
        tiles_(tiles),
        reach_(std::move(reach)),
        apart_(is_apart(s)),
        forward_(result == ConvolutionArray::Output),
        channels_(forward_ ? s.channels : s.features),
        from_(forward_ ? input_layout(s) : output_layout(s)),
        to_(forward_ ? output_layout(s) : input_layout(s)),
        blocks_(blocks_of(apart_ ? s.groups : to_.pixel / s.groups, tiles.lanes, true)) {
    cut_pieces();
    for (const Block& b : blocks_) columns_ += b.width;
    const auto& taps = reach_[2].taps;
    low_ = taps.empty() ? 0 : taps.front().offset;
    span_ = taps.empty() ? 0 : taps.back().offset - low_ + 1;
    copied_ = apart_ ? 2 * tiles.lanes : channels_;
  }

  /// Elements of memory that `run` works in.
  std::int64_t scratch() const {
    return panels() * rows_ * columns_ + most_window_rows * 2 * tiles_.lanes + outer_taps() * copied_row();
  }

  void run(const T* from, const T* kernel, T* to, T* scratch) {
    panels_ = scratch;
    edge_ = panels_ + panels() * rows_ * columns_;
    copies_ = edge_ + most_window_rows * 2 * tiles_.lanes;
    pack(kernel);
    from_data_ = from;
    to_data_ = to;
    for (std::int64_t image = 0; image < s_.images; ++image)
      for (std::int64_t group = 0; group < panels(); ++group)
        for (std::size_t first = 0, last; first < blocks_.size(); first = last) {
          last = apart_ ? blocks_.size() : first + 1;
          // Blocks that meet the same windows, as many as stay in the cache.
          while (last < blocks_.size() && bytes_of(first, last + 1) <= convolution_kept_bytes) ++last;
          for (std::int64_t i = 0; i < reach_[0].count; ++i)
            for (std::int64_t j = 0; j < reach_[1].count; ++j) compute_row({image, i, j, group, first, last});
        }
  }

 private:
  /// A row of results, of some blocks of columns.
  struct Row {
    std::int64_t image, i, j, group;
    std::size_t first, last;
  };
  struct Piece {
    std::int64_t outer, offset, channel;
  };
  struct Segment {
    std::int64_t first, count, row;  // pieces; of the kernel
  };

  std::int64_t panels() const { return apart_ ? 1 : s_.groups; }
  std::int64_t outer_taps() const {
    return static_cast<std::int64_t>(reach_[0].taps.size() * reach_[1].taps.size());
  }
  std::int64_t copied_row() const { return ((most_window_rows - 1) * reach_[2].stride + span_) * copied_; }
  std::int64_t bytes_of(std::size_t first, std::size_t last) const {
    return (blocks_[last - 1].first + blocks_[last - 1].width - blocks_[first].first) * rows_ *
           static_cast<std::int64_t>(sizeof(T));
  }

  void cut_pieces() {
    std::int64_t terms = 0;
    const auto add = [&](Piece piece, std::int64_t entries) {
      if (segments_.empty() || terms + entries > convolution_chain_terms) {
        segments_.push_back({static_cast<std::int64_t>(pieces_.size()), 0, rows_});
        terms = 0;
      }
      pieces_.push_back(piece);
      entries_.push_back(entries);
      ++segments_.back().count;
      terms += entries;
      rows_ += entries;
    };
    const auto& taps = reach_[2].taps;
    for (std::int64_t outer = 0; outer < outer_taps() && channels_ > 0; ++outer)
      for (std::size_t at = 0, end; at < taps.size(); at = end) {
        end = at + 1;
        while (s_.groups == 1 && end < taps.size() && taps[end].offset == taps[end - 1].offset + 1) ++end;
        const std::int64_t all = static_cast<std::int64_t>(end - at) * channels_;
        for (std::int64_t done = 0; done < all; done += convolution_chain_terms)
          add({outer, taps[at].offset, done}, std::min(convolution_chain_terms, all - done));
      }
  }

  /// The kernel in the order in which tiles read it.
  void pack(const T* kernel) const {
    const std::int64_t column = forward_ ? 1 : s_.groups * s_.features,
                       channel = forward_ ? s_.groups * s_.features : 1,
                       window = s_.channels * s_.groups * s_.features;
    T* to = panels_;
    for (std::int64_t group = 0; group < panels(); ++group)
      for (const Block& b : blocks_)
        for (const auto& i : reach_[0].taps)
          for (const auto& j : reach_[1].taps)
            for (const auto& k : reach_[2].taps) {
              const std::int64_t at =
                  ((i.window * s_.axes[1].window + j.window) * s_.axes[2].window + k.window) * window;
              for (std::int64_t c = 0; c < channels_; ++c, to += b.width) {
                const T* const row = kernel + at + c * channel + group * s_.features;
                for (std::int64_t n = 0; n < b.wide; ++n) to[n] = row[(b.first + n) * (apart_ ? 1 : column)];
                std::fill(to + b.wide, to + b.width, T{});
              }
            }
  }

  void compute_row(const Row& row) {
    const std::int64_t count = reach_[2].count;
    if (!apart_) return compute_places(row, 0, count);
    // Sums of channels that are kept apart are short: tiles whose windows lie inside of the row are not to be
    // copied with those that reach over its ends.
    const std::int64_t stride = reach_[2].stride, last = from_.sizes[2] - low_ - span_,
                       begin = std::clamp<std::int64_t>((stride - 1 - low_) / stride, 0, count),
                       end = std::clamp(last < 0 ? 0 : last / stride + 1, begin, count);
    for (std::size_t block = row.first; block < row.last; ++block) {
      const Row of{row.image, row.i, row.j, row.group, block, block + 1};
      compute_places(of, 0, begin);
      compute_places(of, begin, end);
      compute_places(of, end, count);
    }
  }

  void compute_places(const Row& row, std::int64_t begin, std::int64_t end) {
    const std::int64_t count = end - begin, parts = (count + tiles_.height - 1) / tiles_.height;
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = begin + count * part / parts,
                         rows = begin + count * (part + 1) / parts - first;
      const std::int64_t place = find_windows(row, first, rows);
      for (std::size_t block = row.first; block < row.last; ++block)
        compute_tile(row, blocks_[block], first, rows, place);
    }
  }

  /// Finds where the pieces of the first window are, and how far apart windows are.
  std::int64_t find_windows(const Row& row, std::int64_t first, std::int64_t rows) {
    const std::int64_t channel = apart_ ? blocks_[row.first].first : row.group * channels_,
                       at = first * reach_[2].stride + low_, span = (rows - 1) * reach_[2].stride + span_;
    const std::int64_t wide = apart_ ? blocks_[row.first].wide : channels_,
                       width = apart_ ? blocks_[row.first].width : channels_;
    bool copied = at < 0 || at + span > from_.sizes[2] || wide < width;
    bases_.clear();
    for (const auto& i : reach_[0].taps)
      for (const auto& j : reach_[1].taps) {
        const std::int64_t y = row.i * reach_[0].stride + i.offset, x = row.j * reach_[1].stride + j.offset;
        const bool inside = y >= 0 && y < from_.sizes[0] && x >= 0 && x < from_.sizes[1];
        bases_.push_back(inside ? from_data_ + from_.row(row.image, y, x) : nullptr);
        copied |= !inside;
      }
    std::int64_t pixel = from_.pixel, start = -channel;
    if (copied) {
      T* to = copies_;
      for (const T*& base : bases_) {
        copy_pixels(base, from_.sizes[2], from_.pixel, channel, wide, width, at, span, to);
        base = to;
        to += span * width;
      }
      pixel = width;
      start = at * width;
    }
    windows_.clear();
    for (const Piece& p : pieces_)
      windows_.push_back(bases_[static_cast<std::size_t>(p.outer)] + (at + p.offset - low_) * pixel - start +
                         p.channel);
    return pixel * reach_[2].stride;
  }

  void compute_tile(const Row& row, const Block& b, std::int64_t first, std::int64_t rows,
                    std::int64_t place) const {
    const std::int64_t i = reach_[0].first + row.i * reach_[0].step,
                       j = reach_[1].first + row.j * reach_[1].step,
                       k = reach_[2].first + first * reach_[2].step;
    const std::int64_t column = apart_ ? b.first : row.group * (to_.pixel / s_.groups) + b.first;
    T* const result = to_data_ + to_.row(row.image, i, j) + k * to_.pixel + column;
    const std::int64_t stride = reach_[2].step * to_.pixel;
    const bool whole = b.wide == b.width && !segments_.empty();
    if (segments_.empty()) std::fill_n(edge_, rows * b.width, T{});
    const T* const panel = panels_ + (row.group * columns_ + b.first) * rows_;
    const auto& multiply = (apart_ ? tiles_.multiply_apart : tiles_.multiply)[b.width > tiles_.lanes ? 1 : 0];
    for (const Segment& s : segments_)
      multiply[static_cast<std::size_t>(rows - 1)](
          {windows_.data() + s.first, entries_.data() + s.first, s.count, place, panel + s.row * b.width,
           whole ? result : edge_, whole ? stride : b.width, &s != segments_.data()});
    for (std::int64_t r = 0; r < rows && !whole; ++r)
      std::copy_n(edge_ + r * b.width, b.wide, result + r * stride);
  }

  const ConvolutionSizes& s_;
  const ConvolutionTiles<T>& tiles_;
  std::array<Reach, 3> reach_;
  bool apart_, forward_;
  std::int64_t channels_;  // of what is gathered from, in a group
  PixelLayout from_, to_;
  std::vector<Block> blocks_;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> entries_;  // of each piece
  std::vector<Segment> segments_;
  std::int64_t rows_ = 0, columns_ = 0, low_, span_, copied_;
  std::vector<const T*> bases_, windows_;
  T *panels_ = nullptr, *edge_ = nullptr, *copies_ = nullptr, *to_data_ = nullptr;
  const T* from_data_ = nullptr;
};

/// Some channels of each group.
struct Channels {
  std::int64_t first, count;
};

/// The kernel, of channels that meet one another, for some of these: sums over all places of the output, a
/// row after the other, at most `convolution_chain_terms` places in a chain.
template <class T>
class KernelSums {
 public:
  KernelSums(const ConvolutionSizes& s, Channels channels, const Tiles<T>& products)
      : s_(s),
        channels_(channels),
        products_(products),
        input_(input_layout(s)),
        output_(output_layout(s)),
        width_(products.width),
        columns_(padded(s.features, width_)) {
    const auto& [d, h, w] = s.axes;
    places_ = std::clamp<std::int64_t>(w.output, 1, convolution_chain_terms);
    span_ = (places_ - 1) * w.stride + (w.window - 1) * w.dilation + 1;
    const std::int64_t row_bytes =
        (h.stride * span_ * channels.count + places_ * columns_) * std::int64_t{sizeof(T)};
    rows_ = rows_at_once(s, row_bytes);
    copied_rows_ = input_rows(s, rows_);
  }

  std::int64_t scratch() const {
    return sums() + copied_rows_ * span_ * channels_.count + rows_ * places_ * width_;
  }

  void run(const T* input, const T* output, T* kernel, T* scratch) {
    sums_ = scratch;
    input_copy_ = sums_ + sums();
    output_copy_ = input_copy_ + copied_rows_ * span_ * channels_.count;
    input_data_ = input;
    output_data_ = output;
    for (group_ = 0; group_ < s_.groups; ++group_) {
      std::fill_n(sums_, sums(), T{});
      for (std::int64_t image = 0; image < s_.images; ++image)
        for (std::int64_t i = 0; i < s_.axes[0].output; ++i)
          for (std::int64_t k = 0; k < s_.axes[0].window; ++k) {
            const std::int64_t y = i * s_.axes[0].stride + k * s_.axes[0].dilation - s_.axes[0].low;
            if (y >= 0 && y < s_.axes[0].input) add_plane({image, i, y, k});
          }
      store(kernel);
    }
  }

 private:
  struct Plane {
    std::int64_t image, output, input, window;
  };
  /// Rows and places of the output.
  struct Part {
    std::int64_t first_row, rows, first, places;
  };

  std::int64_t sums() const { return window_entries(s_) * channels_.count * columns_; }

  void add_plane(const Plane& plane) const {
    const auto& [d, h, w] = s_.axes;
    for (std::int64_t j = 0; j < w.output; j += places_)
      for (std::int64_t i = 0; i < h.output; i += rows_)
        add_part(plane, {i, std::min(rows_, h.output - i), j, std::min(places_, w.output - j)});
  }

  void add_part(const Plane& plane, const Part& part) const {
    const auto& [d, h, w] = s_.axes;
    const std::int64_t begin = std::max<std::int64_t>(part.first_row * h.stride - h.low, 0),
                       end = std::min((part.first_row + part.rows - 1) * h.stride +
                                          (h.window - 1) * h.dilation - h.low + 1,
                                      h.input);
    for (std::int64_t i = begin; i < end; ++i)
      copy_pixels(input_data_ + input_.row(plane.image, plane.input, i), w.input, input_.pixel,
                  group_ * s_.channels + channels_.first, channels_.count, channels_.count,
                  part.first * w.stride - w.low, span_, input_copy_ + (i - begin) * span_ * channels_.count);
    for (std::int64_t at = 0; at < s_.features; at += width_)
      add_block(plane, part, begin, std::min(width_, s_.features - at), at);
  }

  /// Of columns of the output.
  void add_block(const Plane& plane, const Part& part, std::int64_t begin, std::int64_t wide,
                 std::int64_t at) const {
    const auto& [d, h, w] = s_.axes;
    const std::int64_t column = group_ * s_.features + at;
    const T* output = output_data_ + output_.row(plane.image, plane.output, part.first_row);
    std::int64_t row = output_.sizes[2] * output_.pixel, pixel = output_.pixel;
    if (wide < width_) {
      for (std::int64_t i = 0; i < part.rows; ++i)
        copy_pixels(output + i * row, output_.sizes[2], pixel, column, wide, width_, part.first, part.places,
                    output_copy_ + i * part.places * width_);
      output = output_copy_;
      row = part.places * width_;
      pixel = width_;
    } else {
      output += part.first * pixel + column;
    }
    // Calls add(input, output) for row i of the part and row k of the window, if it lies inside.
    const auto with_row = [&](std::int64_t i, std::int64_t k, const auto& add) {
      const std::int64_t from = (part.first_row + i) * h.stride + k * h.dilation - h.low;
      if (from >= 0 && from < h.input)
        add(input_copy_ + (from - begin) * span_ * channels_.count, output + i * row);
    };
    for (std::int64_t k = 0; k < h.window; ++k)
      add_products(part, pixel,
                   sums_ + (plane.window * h.window + k) * w.window * channels_.count * columns_ + at,
                   [&](const auto& add) {
                     for (std::int64_t i = 0; i < part.rows; ++i) with_row(i, k, add);
                   });
  }

  /// Entries of the window that follow one another are rows of one product.
  template <class EachRow>
  void add_products(const Part& part, std::int64_t pixel, T* sums, const EachRow& each_row) const {
    const ConvolutionAxis& w = s_.axes[2];
    const std::int64_t runs = w.dilation == 1 ? 1 : w.window,
                       lines = w.window / std::max<std::int64_t>(runs, 1) * channels_.count,
                       tiles = (lines + products_.height - 1) / products_.height;
    for (std::int64_t run = 0; run < runs; ++run)
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t line = lines * tile / tiles, count = lines * (tile + 1) / tiles - line;
        each_row([&](const T* input, const T* output) {
          products_.multiply(
              {input + run * w.dilation * channels_.count + line, 1, w.stride * channels_.count, output,
               pixel, part.places, sums + (run * lines + line) * columns_, columns_, true, products_.width,
               nullptr},
              count);
        });
      }
  }

  void store(T* kernel) const {
    const T* from = sums_;
    for (std::int64_t k = 0; k < window_entries(s_); ++k)
      for (std::int64_t c = 0; c < channels_.count; ++c, from += columns_)
        std::copy_n(from, s_.features,
                    kernel + ((k * s_.channels + channels_.first + c) * s_.groups + group_) * s_.features);
  }

  const ConvolutionSizes& s_;
  Channels channels_;
  const Tiles<T>& products_;
  PixelLayout input_, output_;
  std::int64_t width_, columns_;  // of a block; of sums
  std::int64_t places_, span_, rows_, copied_rows_, group_ = 0;
  T *sums_ = nullptr, *input_copy_ = nullptr, *output_copy_ = nullptr;
  const T *input_data_ = nullptr, *output_data_ = nullptr;
};

/// Where windows have one entry, all places are one row.
ConvolutionSizes flattened(ConvolutionSizes s) {
  for (const ConvolutionAxis& a : s.axes)
    if (a.window != 1 || a.stride != 1 || a.low != 0 || a.input != a.output) return s;
  const std::int64_t places = s.images * s.axes[0].input * s.axes[1].input * s.axes[2].input;
  s.images = 1;
  s.axes = {};
  s.axes[2].input = s.axes[2].output = places;
  return s;
}

struct ConvolutionScratch;

template <class T, class Work>
void run_in_scratch(Work&& work, const T* first, const T* second, T* to) {
  const KeptScratch<ConvolutionScratch> scratch(static_cast<std::size_t>(work.scratch()) * sizeof(T));
  work.run(first, second, to, static_cast<T*>(scratch.data()));
}

/// On one thread. `channels`: of a kernel whose channels meet one another.
template <class T>
void convolve_images(const ConvolutionSizes& given, ConvolutionArray result, Channels channels,
                     const T* first, const T* second, T* to, bool wide_registers) {
  const ConvolutionSizes s = flattened(given);
  const ConvolutionTiles<T> tiles =
      wide_registers ? avx512_convolution_tiles<T>() : avx2_convolution_tiles<T>();
  if (result == ConvolutionArray::Kernel) {
    if (kernel_entries(s) == 0) return;
    const Tiles<T> products = tiles_for<T>(wide_registers);
    if (is_apart(s))
      run_in_scratch(ChannelSums<T>(s, tiles), first, second, to);
    else
      run_in_scratch(KernelSums<T>(s, channels, products), first, second, to);
  } else if (result == ConvolutionArray::Output) {
    if (s.images * output_layout(s).image() == 0) return;
    const std::array reach{reach_of_output(s.axes[0]), reach_of_output(s.axes[1]),
                           reach_of_output(s.axes[2])};
    run_in_scratch(Gathering<T>(s, result, tiles, reach), first, second, to);
  } else {
    if (s.images * input_layout(s).image() == 0) return;
    for (std::int64_t i = 0; i < std::min(s.axes[0].stride, s.axes[0].input); ++i)
      for (std::int64_t j = 0; j < std::min(s.axes[1].stride, s.axes[1].input); ++j)
        for (std::int64_t k = 0; k < std::min(s.axes[2].stride, s.axes[2].input); ++k) {
          const std::array reach{reach_of_input(s.axes[0], i), reach_of_input(s.axes[1], j),
                                 reach_of_input(s.axes[2], k)};
          run_in_scratch(Gathering<T>(s, result, tiles, reach), second, first, to);
        }
  }
}

}  // namespace

/// Images are shared out to threads; of kernels, channels.
template <class T>
void convolve(const ConvolutionSizes& s, ConvolutionArray result, const T* first, const T* second, T* to,
              bool wide_registers) {
  const std::int64_t input = input_layout(s).image(), output = output_layout(s).image(),
                     kernel = kernel_entries(s);
  const bool of_kernel = result == ConvolutionArray::Kernel;
  const std::int64_t pieces = !of_kernel ? s.images : is_apart(s) ? 1 : s.channels;
  const double all =
      static_cast<double>(s.images * output) * static_cast<double>(window_entries(s) * s.channels);
  const std::int64_t parts = pieces_of_matrix(s.batch, all, pieces);
  each_matrix(s.batch * parts, all / static_cast<double>(parts), [&](std::int64_t i) {
    const std::int64_t batch = i / parts, part = i % parts, from = pieces * part / parts,
                       count = pieces * (part + 1) / parts - from;
    ConvolutionSizes some = s;
    some.batch = 1;
    std::int64_t at = batch * s.images;
    if (of_kernel)
      return convolve_images(some, result, {from, count}, first + at * input, second + at * output,
                             to + batch * kernel, wide_registers);
    some.images = count;
    at += from;
    if (result == ConvolutionArray::Output)
      convolve_images(some, result, {}, first + at * input, second + batch * kernel, to + at * output,
                      wide_registers);
    else
      convolve_images(some, result, {}, first + batch * kernel, second + at * output, to + at * input,
                      wide_registers);
  });
}
template void convolve(const ConvolutionSizes&, ConvolutionArray, const float*, const float*, float*, bool);
template void convolve(const ConvolutionSizes&, ConvolutionArray, const double*, const double*, double*,
                       bool);

}  // namespace apsis::detail
