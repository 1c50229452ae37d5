#include "schedules/workload.h"

#include <charconv>
#include <cmath>

namespace temper {
namespace {

constexpr int64_t kMaxElements = (int64_t{1} << 29) - 1;  // below 2^31 bytes of f32
constexpr int64_t kMaxExtent = int64_t{1} << 30;          // padded image extent: keeps index arithmetic inside int32

Error invalid(const std::string& what) { return {TEMPER_BAD_DATA, "workload: " + what}; }

/// Product that stops at 2^62 instead of overflowing.
int64_t product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors) {
    if (factor != 0 && result > (int64_t{1} << 62) / factor) {
      return int64_t{1} << 62;
    }
    result *= factor;
  }
  return result;
}

struct NamedSize {
  const char* name;
  int64_t value;
  int64_t least;
};

/// First size that is below its least value, as an error; code TEMPER_OK when all are fine.
Error check_sizes(std::initializer_list<NamedSize> sizes) {
  for (const NamedSize& size : sizes) {
    if (size.value < size.least) {
      return invalid(std::string(size.name) + " is " + std::to_string(size.value) + ", must be at least " +
                     std::to_string(size.least));
    }
  }
  return {TEMPER_OK, ""};
}

/// Likewise for the number of elements of each tensor.
Error check_elements(std::initializer_list<NamedSize> tensors) {
  for (const NamedSize& tensor : tensors) {
    if (tensor.value > kMaxElements) {
      return invalid(std::string(tensor.name) + " has 2^31 bytes or more; split it along the batch");
    }
  }
  return {TEMPER_OK, ""};
}

Error check_matmul(const MatmulShape& s) {
  Error sizes = check_sizes({{"batch", s.batch, 1}, {"m", s.m, 1}, {"n", s.n, 1}, {"k", s.k, 1}});
  if (sizes.code != TEMPER_OK) {
    return sizes;
  }
  return check_elements({{"a", product({s.a_shared ? 1 : s.batch, s.m, s.k}), 0},
                         {"b", product({s.b_shared ? 1 : s.batch, s.k, s.n}), 0},
                         {"output", product({s.batch, s.m, s.n}), 0}});
}

Error check_extent(const char* name, int64_t size, int64_t pads, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t padded = size + pads;
  const int64_t span = product({dilation, kernel - 1}) + 1;
  if (padded > kMaxExtent || stride > kMaxExtent) {
    return invalid(std::string("padded ") + name + " or its stride is beyond 2^30");
  }
  if (span > padded) {
    return invalid(std::string("output is empty: dilated kernel spans ") + std::to_string(span) + " of padded " + name +
                   " " + std::to_string(padded));
  }
  return {TEMPER_OK, ""};
}

Error check_conv(const Conv2dShape& s) {
  const Error errors[] = {
      check_sizes({{"batch", s.batch, 1},
                   {"channels", s.channels, 1},
                   {"height", s.height, 1},
                   {"width", s.width, 1},
                   {"out_channels", s.out_channels, 1},
                   {"kernel_h", s.kernel_h, 1},
                   {"kernel_w", s.kernel_w, 1},
                   {"stride_h", s.stride_h, 1},
                   {"stride_w", s.stride_w, 1},
                   {"pad_top", s.pad_top, 0},
                   {"pad_left", s.pad_left, 0},
                   {"pad_bottom", s.pad_bottom, 0},
                   {"pad_right", s.pad_right, 0},
                   {"dilation_h", s.dilation_h, 1},
                   {"dilation_w", s.dilation_w, 1},
                   {"groups", s.groups, 1}}),
      check_extent("height", s.height, int64_t{s.pad_top} + s.pad_bottom, s.kernel_h, s.dilation_h, s.stride_h),
      check_extent("width", s.width, int64_t{s.pad_left} + s.pad_right, s.kernel_w, s.dilation_w, s.stride_w)};
  for (const Error& error : errors) {
    if (error.code != TEMPER_OK) {
      return error;
    }
  }
  if (s.channels % s.groups != 0 || s.out_channels % s.groups != 0) {
    return invalid("groups " + std::to_string(s.groups) + " must divide channels " + std::to_string(s.channels) +
                   " and out_channels " + std::to_string(s.out_channels));
  }
  return check_elements({{"image", product({s.batch, s.channels, s.height, s.width}), 0},
                         {"filter", product({s.out_channels, s.channels / s.groups, s.kernel_h, s.kernel_w}), 0},
                         {"output", product({s.batch, s.out_channels, s.out_height(), s.out_width()}), 0}});
}

// ---- text ----

std::string float_text(float value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value + 0.0f).ptr;  // -0 becomes 0
  return std::string(buffer, end);
}

std::string joined(std::initializer_list<int32_t> values, char separator) {
  std::string text;
  for (int32_t value : values) {
    text += (text.empty() ? "" : std::string(1, separator)) + std::to_string(value);
  }
  return text;
}

std::string epilogue_text(const Epilogue& epilogue) {
  std::string text;
  text += epilogue.bias ? " bias" : "";
  text += epilogue.addend ? " addend" : "";
  text += epilogue.activation == Activation::kRelu ? " relu" : "";
  if (epilogue.activation == Activation::kClip) {
    text += " clip(" + float_text(epilogue.low) + "," + float_text(epilogue.high) + ")";
  }
  return text;
}

struct MatmulFlag {
  const char* word;
  bool MatmulShape::*member;
};
constexpr MatmulFlag kMatmulFlags[] = {{"ta", &MatmulShape::transpose_a},    {"tb", &MatmulShape::transpose_b},
                                       {"ashared", &MatmulShape::a_shared},  {"bshared", &MatmulShape::b_shared},
                                       {"aconst", &MatmulShape::a_constant}, {"bconst", &MatmulShape::b_constant}};

// ---- parser ----

/// Reads `text` as integers behind `prefix` with one separator between them.
bool read_integers(const std::string& text, const std::string& prefix, char separator,
                   std::initializer_list<int32_t*> out) {
  if (text.compare(0, prefix.size(), prefix) != 0) {
    return false;
  }
  const char* at = text.data() + prefix.size();
  const char* end = text.data() + text.size();
  bool first = true;
  for (int32_t* value : out) {
    if (!first && (at == end || *at++ != separator)) {
      return false;
    }
    first = false;
    const auto [next, error] = std::from_chars(at, end, *value);
    if (error != std::errc()) {
      return false;
    }
    at = next;
  }
  return at == end;
}

bool read_clip(const std::string& word, Epilogue* epilogue) {
  const std::string prefix = "clip(";
  const size_t comma = word.find(',');
  if (word.compare(0, prefix.size(), prefix) != 0 || comma == std::string::npos || word.back() != ')') {
    return false;
  }
  const char* begin = word.data() + prefix.size();
  const char* middle = word.data() + comma;
  const char* end = word.data() + word.size() - 1;
  const auto low = std::from_chars(begin, middle, epilogue->low);
  const auto high = std::from_chars(middle + 1, end, epilogue->high);
  epilogue->activation = Activation::kClip;
  return low.ec == std::errc() && low.ptr == middle && high.ec == std::errc() && high.ptr == end;
}

bool read_epilogue_word(const std::string& word, Epilogue* epilogue) {
  if (word == "bias") {
    epilogue->bias = true;
    return true;
  }
  if (word == "addend") {
    epilogue->addend = true;
    return true;
  }
  if (word == "relu") {
    epilogue->activation = Activation::kRelu;
    return true;
  }
  return read_clip(word, epilogue);
}

bool read_matmul_word(const std::string& word, size_t index, Workload* workload) {
  MatmulShape& s = workload->matmul;
  if (index == 2) {
    return read_integers(word, "", 'x', {&s.batch, &s.m, &s.k, &s.n});
  }
  for (const MatmulFlag& flag : kMatmulFlags) {
    if (word == flag.word) {
      s.*flag.member = true;
      return true;
    }
  }
  return read_epilogue_word(word, &workload->epilogue);
}

bool read_conv_word(const std::string& word, size_t index, Workload* workload) {
  Conv2dShape& s = workload->conv;
  switch (index) {
    case 2:
      s.layout = word == "nhwc" ? Layout::kNhwc : Layout::kNchw;
      return word == "nhwc" || word == "nchw";
    case 3:
      return read_integers(word, "", 'x', {&s.batch, &s.channels, &s.height, &s.width});
    case 4:
      return read_integers(word, "o", 'x', {&s.out_channels});
    case 5:
      return read_integers(word, "k", 'x', {&s.kernel_h, &s.kernel_w});
    case 6:
      return read_integers(word, "s", 'x', {&s.stride_h, &s.stride_w});
    case 7:
      return read_integers(word, "p", ',', {&s.pad_top, &s.pad_left, &s.pad_bottom, &s.pad_right});
    case 8:
      return read_integers(word, "d", 'x', {&s.dilation_h, &s.dilation_w});
    case 9:
      return read_integers(word, "g", 'x', {&s.groups});
    default:
      break;
  }
  if (word == "fvar") {
    s.filter_constant = false;
    return true;
  }
  return read_epilogue_word(word, &workload->epilogue);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t space = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, space - at));
    at = space + 1;
  }
  return words;
}

/// Batch, channels, height, width in either layout.
std::string image_text(const Conv2dShape& s) { return joined({s.batch, s.channels, s.height, s.width}, 'x'); }

}  // namespace

Result<Workload> validated(const Workload& workload) {
  Workload result = workload;
  Error error;
  if (workload.op == Operator::kMatmul) {
    error = check_matmul(workload.matmul);
    result.conv = Conv2dShape{};
    if (workload.matmul.batch == 1) {  // sharing over a batch of one says nothing
      result.matmul.a_shared = result.matmul.b_shared = false;
    }
  } else if (workload.op == Operator::kConv2d) {
    error = check_conv(workload.conv);
    result.matmul = MatmulShape{};
  } else {
    error = invalid("unknown operator " + std::to_string(static_cast<int>(workload.op)));
  }
  if (error.code != TEMPER_OK) {
    return error;
  }
  Epilogue& epilogue = result.epilogue;
  if (epilogue.activation != Activation::kClip) {
    epilogue.low = epilogue.high = 0.0f;
  } else if (!(epilogue.low <= epilogue.high)) {
    return invalid("clip from " + float_text(epilogue.low) + " to " + float_text(epilogue.high) +
                   " is not an interval");
  }
  epilogue.low += 0.0f;
  epilogue.high += 0.0f;
  return result;
}

std::string canonical_text(const Workload& workload) {
  if (workload.op == Operator::kMatmul) {
    const MatmulShape& s = workload.matmul;
    std::string text = "matmul f32 " + joined({s.batch, s.m, s.k, s.n}, 'x');
    for (const MatmulFlag& flag : kMatmulFlags) {
      text += s.*flag.member ? std::string(" ") + flag.word : "";
    }
    return text + epilogue_text(workload.epilogue);
  }
  const Conv2dShape& s = workload.conv;
  std::string text = std::string("conv2d f32 ") + (s.layout == Layout::kNhwc ? "nhwc " : "nchw ") + image_text(s);
  text += " o" + std::to_string(s.out_channels) + " k" + joined({s.kernel_h, s.kernel_w}, 'x');
  text += " s" + joined({s.stride_h, s.stride_w}, 'x');
  text += " p" + joined({s.pad_top, s.pad_left, s.pad_bottom, s.pad_right}, ',');
  text += " d" + joined({s.dilation_h, s.dilation_w}, 'x') + " g" + std::to_string(s.groups);
  text += s.filter_constant ? "" : " fvar";
  return text + epilogue_text(workload.epilogue);
}

Result<Workload> parse_workload(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  Workload workload;
  if (words[0] == "conv2d") {
    workload.op = Operator::kConv2d;
  } else if (words[0] != "matmul") {
    return invalid("unknown operator \"" + words[0] + "\" in \"" + text + "\"; known are matmul and conv2d");
  }
  const bool conv = workload.op == Operator::kConv2d;
  if (words.size() < (conv ? 10u : 3u)) {
    return invalid("\"" + text + "\" ends early");
  }
  if (words[1] != "f32") {
    return invalid("unknown type \"" + words[1] + "\" in \"" + text + "\"; known is f32");
  }
  for (size_t i = 2; i < words.size(); ++i) {
    const bool read = conv ? read_conv_word(words[i], i, &workload) : read_matmul_word(words[i], i, &workload);
    if (!read) {
      return invalid("cannot read \"" + words[i] + "\" in \"" + text + "\"");
    }
  }
  Result<Workload> result = validated(workload);
  if (result.ok() && canonical_text(*result) != text) {
    return invalid("\"" + text + "\" is not in canonical form; write \"" + canonical_text(*result) + "\"");
  }
  return result;
}

uint64_t workload_key(const Workload& workload) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (char c : canonical_text(workload)) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  }
  return hash;
}

int64_t reduction_length(const Workload& workload) {
  if (workload.op == Operator::kMatmul) {
    return workload.matmul.k;
  }
  const Conv2dShape& s = workload.conv;
  return int64_t{s.channels / s.groups} * s.kernel_h * s.kernel_w;
}

uint64_t flops(const Workload& workload) {
  const uint64_t outputs = tensor_elements(workload)[TEMPER_OUT];
  return 2 * outputs * static_cast<uint64_t>(reduction_length(workload));
}

std::array<uint32_t, TEMPER_TENSOR_COUNT> tensor_elements(const Workload& workload) {
  std::array<uint32_t, TEMPER_TENSOR_COUNT> elements{};
  int64_t out = 0, a = 0, b = 0, channels = 0;
  if (workload.op == Operator::kMatmul) {
    const MatmulShape& s = workload.matmul;
    out = product({s.batch, s.m, s.n});
    a = product({s.a_shared ? 1 : s.batch, s.m, s.k});
    b = product({s.b_shared ? 1 : s.batch, s.k, s.n});
    channels = s.n;
  } else {
    const Conv2dShape& s = workload.conv;
    out = product({s.batch, s.out_channels, s.out_height(), s.out_width()});
    a = product({s.batch, s.channels, s.height, s.width});
    b = product({s.out_channels, s.channels / s.groups, s.kernel_h, s.kernel_w});
    channels = s.out_channels;
  }
  elements[TEMPER_OUT] = static_cast<uint32_t>(out);
  elements[TEMPER_IN_A] = static_cast<uint32_t>(a);
  elements[TEMPER_IN_B] = static_cast<uint32_t>(b);
  elements[TEMPER_BIAS] = workload.epilogue.bias ? static_cast<uint32_t>(channels) : 0;
  elements[TEMPER_ADDEND] = workload.epilogue.addend ? static_cast<uint32_t>(out) : 0;
  return elements;
}

std::string operator_name(const Workload& workload) { return workload.op == Operator::kMatmul ? "matmul" : "conv2d"; }

std::string shape_text(const Workload& workload) {
  if (workload.op == Operator::kMatmul) {
    const MatmulShape& s = workload.matmul;
    const std::string text = joined({s.m, s.k}, 'x') + " * " + joined({s.k, s.n}, 'x');
    return s.batch == 1 ? text : std::to_string(s.batch) + " of " + text;
  }
  const Conv2dShape& s = workload.conv;
  std::string text =
      image_text(s) + " -> " + std::to_string(s.out_channels) + ", " + joined({s.kernel_h, s.kernel_w}, 'x');
  if (s.stride_h != 1 || s.stride_w != 1) {
    text += " s" + (s.stride_h == s.stride_w ? std::to_string(s.stride_h) : joined({s.stride_h, s.stride_w}, 'x'));
  }
  if (s.dilation_h != 1 || s.dilation_w != 1) {
    text += " d" +
            (s.dilation_h == s.dilation_w ? std::to_string(s.dilation_h) : joined({s.dilation_h, s.dilation_w}, 'x'));
  }
  return s.groups == 1 ? text : text + " g" + std::to_string(s.groups);
}

}  // namespace temper
