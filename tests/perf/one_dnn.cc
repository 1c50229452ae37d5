#include <omp.h>

#include <dnnl.hpp>

#include "tests/perf/contender.h"

namespace temper::perf {

namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

/// The engine and stream of the process; weights are reordered once, before timing.
struct Session {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  memory packed(memory plain, const memory::desc& wanted) {
    if (plain.get_desc() == wanted) {
      return plain;
    }
    memory target(wanted, engine);
    dnnl::reorder(plain, target).execute(stream, plain, target);
    stream.wait();
    return target;
  }
};

Session& session() {
  static Session instance;
  return instance;
}

/// Ours fuse the epilogue; so do the library's contenders.
dnnl::primitive_attr epilogue_attr(const Epilogue& epilogue, memory::desc addend_desc) {
  dnnl::primitive_attr attr;
  dnnl::post_ops ops;
  if (epilogue.addend) {
    ops.append_binary(dnnl::algorithm::binary_add, addend_desc);
  }
  if (epilogue.activation == Activation::kRelu) {
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  } else if (epilogue.activation == Activation::kClip) {
    ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_clip, epilogue.low, epilogue.high);
  }
  attr.set_post_ops(ops);
  return attr;
}

struct Prepared {
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
  Tensor out;
};

void* mutable_data(const Tensor& tensor) { return const_cast<float*>(tensor.data()); }

Contender finish(const std::string& name, std::shared_ptr<Prepared> prepared, int threads) {
  return {name,
          [prepared, threads] {
            omp_set_num_threads(threads);
            prepared->primitive.execute(session().stream, prepared->arguments);
            session().stream.wait();
          },
          prepared, &prepared->out};
}

/// Binds a primitive to the data; weights are reordered to what it chose.
template <class Primitive, class Details>
std::shared_ptr<Prepared> prepare(const Details& details, const Workload& workload, const WorkloadData& data,
                                  const memory::desc& source, const memory::desc& weights, const memory::desc& bias,
                                  const memory::desc& result) {
  const dnnl::engine& engine = session().engine;
  auto prepared = std::make_shared<Prepared>();
  prepared->out.resize(data.tensor[TEMPER_OUT].size());
  const memory plain(weights, engine, mutable_data(data.tensor[TEMPER_IN_B]));
  prepared->arguments = {{DNNL_ARG_SRC, memory(source, engine, mutable_data(data.tensor[TEMPER_IN_A]))},
                         {DNNL_ARG_WEIGHTS, session().packed(plain, details.weights_desc())},
                         {DNNL_ARG_DST, memory(result, engine, prepared->out.data())}};
  if (workload.epilogue.bias) {
    prepared->arguments.insert({DNNL_ARG_BIAS, memory(bias, engine, mutable_data(data.tensor[TEMPER_BIAS]))});
  }
  if (workload.epilogue.addend) {
    prepared->arguments.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                                memory(result, engine, mutable_data(data.tensor[TEMPER_ADDEND]))});
  }
  prepared->primitive = Primitive(details);
  return prepared;
}

Contender convolution(const Workload& workload, const WorkloadData& data, int threads) {
  const Conv2dShape& s = workload.conv;
  const dnnl::engine& engine = session().engine;
  const auto plain = s.layout == Layout::kNhwc ? memory::format_tag::nhwc : memory::format_tag::nchw;
  const memory::desc source({s.batch, s.channels, s.height, s.width}, kF32, plain);
  const memory::desc result({s.batch, s.out_channels, s.out_height(), s.out_width()}, kF32, plain);
  memory::dims filter_dims{s.out_channels, s.channels / s.groups, s.kernel_h, s.kernel_w};
  auto filter_tag = memory::format_tag::oihw;
  if (s.groups > 1) {
    filter_dims = {s.groups, s.out_channels / s.groups, s.channels / s.groups, s.kernel_h, s.kernel_w};
    filter_tag = memory::format_tag::goihw;
  }
  const memory::desc bias({s.out_channels}, kF32, memory::format_tag::a);
  const memory::dims strides{s.stride_h, s.stride_w}, dilation{s.dilation_h - 1, s.dilation_w - 1};
  const memory::dims before{s.pad_top, s.pad_left}, after{s.pad_bottom, s.pad_right};
  const memory::desc any_filter(filter_dims, kF32, memory::format_tag::any);
  const auto description =
      workload.epilogue.bias
          ? dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                            source, any_filter, bias, result, strides, dilation, before, after)
          : dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                            source, any_filter, result, strides, dilation, before, after);
  const dnnl::convolution_forward::primitive_desc details(description, epilogue_attr(workload.epilogue, result),
                                                          engine);
  return finish("oneDNN conv",
                prepare<dnnl::convolution_forward>(details, workload, data, source,
                                                   memory::desc(filter_dims, kF32, filter_tag), bias, result),
                threads);
}

/// A matmul of the library; `weights_any` lets it choose the layout of B, which is then packed beforehand.
Contender matmul(const std::string& name, const Workload& workload, const MatmulShape& s, const WorkloadData& data,
                 int threads) {
  const dnnl::engine& engine = session().engine;
  const bool batched = s.batch > 1;
  const auto shape = [&](int64_t batch, int64_t rows, int64_t columns) {
    return batched ? memory::dims{batch, rows, columns} : memory::dims{rows, columns};
  };
  const auto tag = [&](bool transposed) {
    if (batched) {
      return transposed ? memory::format_tag::acb : memory::format_tag::abc;
    }
    return transposed ? memory::format_tag::ba : memory::format_tag::ab;
  };
  const memory::desc source(shape(s.a_shared ? 1 : s.batch, s.m, s.k), kF32, tag(s.transpose_a));
  const memory::desc b_plain(shape(s.b_shared ? 1 : s.batch, s.k, s.n), kF32, tag(s.transpose_b));
  const memory::desc b(b_plain.dims(), kF32, s.b_constant ? memory::format_tag::any : tag(s.transpose_b));
  const memory::desc result(shape(s.batch, s.m, s.n), kF32, tag(false));
  const memory::desc bias(shape(1, 1, s.n), kF32, tag(false));
  const auto description =
      workload.epilogue.bias ? dnnl::matmul::desc(source, b, bias, result) : dnnl::matmul::desc(source, b, result);
  const dnnl::matmul::primitive_desc details(description, epilogue_attr(workload.epilogue, result), engine);
  return finish(name, prepare<dnnl::matmul>(details, workload, data, source, b_plain, bias, result), threads);
}

/// Inner product: out[m, n] = src[m, k] * weights[n, k]^T, weights packed beforehand.
Contender inner_product(const Workload& workload, const MatmulShape& s, const WorkloadData& data, int threads) {
  const dnnl::engine& engine = session().engine;
  const memory::desc source({s.m, s.k}, kF32, memory::format_tag::ab), result({s.m, s.n}, kF32, memory::format_tag::ab);
  const memory::desc any({s.n, s.k}, kF32, memory::format_tag::any), bias({s.n}, kF32, memory::format_tag::a);
  const auto description =
      workload.epilogue.bias
          ? dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_inference, source, any, bias, result)
          : dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_inference, source, any, result);
  const dnnl::inner_product_forward::primitive_desc details(description, epilogue_attr(workload.epilogue, result),
                                                            engine);
  const auto plain_tag = s.transpose_b ? memory::format_tag::ab : memory::format_tag::ba;
  return finish("oneDNN inner product",
                prepare<dnnl::inner_product_forward>(details, workload, data, source,
                                                     memory::desc({s.n, s.k}, kF32, plain_tag), bias, result),
                threads);
}

}  // namespace

std::vector<Contender> one_dnn(const Workload& workload, const WorkloadData& data, int threads) {
  std::vector<Contender> found;
  const auto attempt = [&](auto make) {
    try {
      found.push_back(make());
    } catch (const dnnl::error&) {  // the library has no implementation for this combination
    }
  };
  omp_set_num_threads(threads);  // some implementations choose their blocking for the thread count
  if (workload.op == Operator::kMatmul) {
    const MatmulShape& s = workload.matmul;
    attempt([&] { return matmul("oneDNN matmul", workload, s, data, threads); });
    if (s.batch == 1 && !s.transpose_a && s.b_constant) {
      attempt([&] { return inner_product(workload, s, data, threads); });
    }
    return found;
  }
  const Conv2dShape& s = workload.conv;
  attempt([&] { return convolution(workload, data, threads); });
  const bool pointwise = s.kernel_h * s.kernel_w == 1 && s.stride_h * s.stride_w == 1 &&
                         s.pad_top + s.pad_left + s.pad_bottom + s.pad_right == 0;
  if (pointwise && s.groups == 1 && s.layout == Layout::kNhwc) {
    MatmulShape as_matmul;
    as_matmul.m = s.batch * s.height * s.width;
    as_matmul.k = s.channels;
    as_matmul.n = s.out_channels;
    as_matmul.transpose_b = as_matmul.b_constant = true;
    attempt([&] { return matmul("oneDNN matmul", workload, as_matmul, data, threads); });
    attempt([&] { return inner_product(workload, as_matmul, data, threads); });
  }
  return found;
}

}  // namespace temper::perf
