#pragma once

// The kernel's gradient where each channel is convolved for itself. Several rows of the window meet a row of
// the output at once, and arrays are read where they are.

#include "ops/convolution_layout.hpp"
#include "ops/convolution_tiles.hpp"

namespace apsis::detail {

/// Sums over all places of the output, a row after the other, at most `convolution_chain_terms` places in a
/// chain.
template <class T>
class ChannelSums {
 public:
  ChannelSums(const ConvolutionSizes& s, const ConvolutionTiles<T>& tiles)
      : s_(s),
        tiles_(tiles),
        input_(input_layout(s)),
        output_(output_layout(s)),
        width_(2 * tiles.lanes),
        columns_((s.groups + width_ - 1) / width_ * width_) {
    const auto& [d, h, w] = s.axes;
    places_ = std::clamp<std::int64_t>(w.output, 1, convolution_chain_terms);
    reach_ = (w.window - 1) * w.dilation + 1;
    const std::int64_t span = (places_ - 1) * w.stride + reach_,
                       row_bytes = (h.stride * span + places_) * columns_ * std::int64_t{sizeof(T)};
    rows_ = rows_at_once(s, row_bytes);
    // What is copied at both ends of a row may overlap by a window.
    input_copies_ = input_rows(s, rows_) * (span + reach_) * width_;
  }

  /// Elements of memory that `run` works in.
  std::int64_t scratch() const { return sums() + input_copies_ + rows_ * places_ * width_; }

  void run(const T* input, const T* output, T* kernel, T* scratch) {
    sums_ = scratch;
    input_copy_ = sums_ + sums();
    output_copy_ = input_copy_ + input_copies_;
    input_data_ = input;
    output_data_ = output;
    std::fill_n(sums_, sums(), T{});
    for (std::int64_t image = 0; image < s_.images; ++image)
      for (std::int64_t i = 0; i < s_.axes[0].output; ++i)
        for (std::int64_t k = 0; k < s_.axes[0].window; ++k) {
          const std::int64_t y = i * s_.axes[0].stride + k * s_.axes[0].dilation - s_.axes[0].low;
          if (y >= 0 && y < s_.axes[0].input) add_plane({image, i, y, k});
        }
    for (std::int64_t k = 0; k < window_entries(s_); ++k)
      std::copy_n(sums_ + k * columns_, s_.groups, kernel + k * s_.groups);
  }

 private:
  struct Plane {
    std::int64_t image, output, input, window;
  };
  /// Channels that fill some registers, or nearly so.
  struct Block {
    std::int64_t first, wide, registers, width;
    bool copied() const { return wide < width; }
  };
  /// Rows and places of the output.
  struct Part {
    std::int64_t first_row, rows, first, places;
  };
  /// How what the first row of a part meets is found, and how far apart rows are.
  struct Found {
    ChannelRuns<T> runs;
    std::int64_t first_row, row[3], output_row, output_pixel;
  };

  std::int64_t sums() const { return window_entries(s_) * columns_; }

  void add_plane(const Plane& plane) const {
    const auto& [d, h, w] = s_.axes;
    for (std::int64_t j = 0; j < w.output; j += places_)
      for (std::int64_t i = 0; i < h.output; i += rows_)
        for (std::int64_t first = 0; first < s_.groups; first += width_) {
          const std::int64_t wide = std::min(width_, s_.groups - first),
                             registers = wide <= tiles_.lanes ? 1 : 2;
          add_part(plane, {i, std::min(rows_, h.output - i), j, std::min(places_, w.output - j)},
                   {first, wide, registers, registers * tiles_.lanes});
        }
  }

  void add_part(const Plane& plane, const Part& part, const Block& block) const {
    const Found found = find(plane, part, block);
    const ConvolutionAxis& h = s_.axes[1];
    for (std::int64_t i = 0; i < part.rows; ++i) {
      // Rows of the window that lie inside.
      const std::int64_t at = (part.first_row + i) * h.stride - h.low,
                         begin = std::clamp<std::int64_t>((h.dilation - 1 - at) / h.dilation, 0, h.window),
                         end = at >= h.input
                                   ? begin
                                   : std::clamp((h.input - 1 - at) / h.dilation + 1, begin, h.window);
      each_piece(begin, end, most_window_lines, [&](std::int64_t k, std::int64_t lines) {
        ChannelRuns<T> runs = found.runs;
        for (std::size_t r = 0; r < runs.size(); ++r) {
          runs[r].input += (at + k * h.dilation - found.first_row) * found.row[r];
          runs[r].output += i * found.output_row;
        }
        add_lines({runs, found.output_pixel, block.registers,
                   sums_ + (plane.window * h.window + k) * s_.axes[2].window * columns_ + block.first,
                   s_.axes[2].window * columns_, columns_},
                  lines);
      });
    }
  }

  /// Calls visit(first, count) for pieces of nearly equal size, of at most `most`.
  template <class Visit>
  static void each_piece(std::int64_t begin, std::int64_t end, std::int64_t most, const Visit& visit) {
    const std::int64_t all = end - begin, pieces = (all + most - 1) / most;
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t first = all * i / pieces;
      visit(begin + first, all * (i + 1) / pieces - first);
    }
  }

  /// Of some rows of the window.
  void add_lines(const ChannelPairs<T>& of, std::int64_t lines) const {
    each_piece(0, s_.axes[2].window, most_window_pairs, [&](std::int64_t k, std::int64_t taps) {
      ChannelPairs<T> pairs = of;
      for (ChannelRun<T>& run : pairs.runs) run.input += k * run.tap;
      pairs.result += k * pairs.result_tap;
      tiles_.add_pairs[static_cast<std::size_t>(lines - 1)][static_cast<std::size_t>(taps - 1)](pairs);
    });
  }

  /// Copies what is not read where it is: windows that reach over the ends of a row, and channels that do not
  /// fill registers.
  Found find(const Plane& plane, const Part& part, const Block& block) const {
    const auto& [d, h, w] = s_.axes;
    // Windows of the places from `inside` to `outside` lie inside of a row.
    const std::int64_t at = part.first * w.stride - w.low, last = w.input - reach_ - at;
    std::int64_t inside = part.places, outside = part.places;
    if (!block.copied()) {
      inside = std::clamp<std::int64_t>((w.stride - 1 - at) / w.stride, 0, part.places);
      if (last >= 0)
        outside = std::clamp(last / w.stride + 1, inside, part.places);
      else
        outside = inside;
    }
    const auto span = [&](std::int64_t places) { return places ? (places - 1) * w.stride + reach_ : 0; };
    const std::int64_t left = span(inside), right = span(part.places - outside),
                       copied_row = (left + right) * block.width;
    const std::int64_t begin = std::max<std::int64_t>(part.first_row * h.stride - h.low, 0),
                       end = std::min((part.first_row + part.rows - 1) * h.stride +
                                          (h.window - 1) * h.dilation - h.low + 1,
                                      h.input);
    const std::int64_t row = input_.sizes[2] * input_.pixel;
    const T* const input = input_data_ + input_.row(plane.image, plane.input, begin);
    for (std::int64_t i = 0; i < end - begin; ++i) {
      const auto copy = [&](std::int64_t from, std::int64_t count, T* to) {
        copy_pixels(input + i * row, w.input, input_.pixel, block.first, block.wide, block.width, from, count,
                    to);
      };
      copy(at, left, input_copy_ + i * copied_row);
      copy(at + outside * w.stride, right, input_copy_ + i * copied_row + left * block.width);
    }
    const T* output = output_data_ + output_.row(plane.image, plane.output, part.first_row);
    std::int64_t output_row = output_.sizes[2] * output_.pixel, output_pixel = output_.pixel;
    if (block.copied()) {
      for (std::int64_t i = 0; i < part.rows; ++i)
        copy_pixels(output + i * output_row, output_.sizes[2], output_pixel, block.first, block.wide,
                    block.width, part.first, part.places, output_copy_ + i * part.places * block.width);
      output = output_copy_;
      output_row = part.places * block.width;
      output_pixel = block.width;
    } else {
      output += part.first * output_pixel + block.first;
    }
    const auto run = [&](const T* from, std::int64_t from_row, std::int64_t pixel, std::int64_t first,
                         std::int64_t last) -> ChannelRun<T> {
      return {from,
              h.dilation * from_row,
              w.dilation * pixel,
              w.stride * pixel,
              output + first * output_pixel,
              last - first};
    };
    return {{run(input_copy_, copied_row, block.width, 0, inside),
             run(input + (at + inside * w.stride) * input_.pixel + block.first, row, input_.pixel, inside,
                 outside),
             run(input_copy_ + left * block.width, copied_row, block.width, outside, part.places)},
            begin,
            {copied_row, row, copied_row},
            output_row,
            output_pixel};
  }

  const ConvolutionSizes& s_;
  const ConvolutionTiles<T>& tiles_;
  PixelLayout input_, output_;
  std::int64_t width_, columns_;  // of a block; of the sums
  std::int64_t places_, reach_, rows_, input_copies_;
  T *sums_ = nullptr, *input_copy_ = nullptr, *output_copy_ = nullptr;
  const T *input_data_ = nullptr, *output_data_ = nullptr;
};

}  // namespace apsis::detail
