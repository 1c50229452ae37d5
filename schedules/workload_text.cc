// The text forms of a workload: canonical text and its parser, and what tables show.
#include <algorithm>
#include <charconv>

#include "schedules/workload.h"

namespace temper {
namespace {

Error invalid(const std::string& what) { return {TEMPER_BAD_DATA, "workload: " + what}; }

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

std::string epilogue_text(const Workload& workload) {
  const Epilogue& epilogue = workload.epilogue;
  std::string words = std::string(epilogue.bias ? " bias" : "") + (epilogue.addend ? " add" : "");
  words += epilogue.activation == Activation::kRelu ? " relu" : epilogue.activation == Activation::kClip ? " clip" : "";
  return words.empty() ? "-" : words.substr(1);
}

}  // namespace temper
