// The Transformer of figure 1, for one sentence, as transformer/model has it. A vector is a Float32Array.
import { add, dot, layerNorm, linear, softmax } from "./vectors.js";
import { encodingOf } from "./positions.js";

export const [PADDING, END, UNKNOWN] = [0, 1, 2];

/** Equation 1 for one query and all heads. `bias(head, key)` is added to the scores; -Infinity hides a key. */
class Attention {
  constructor(config, vector) {
    Object.assign(this, { vector, kind: config.attention, h: config.h, d_k: config.d_k, d_v: config.d_v });
  }

  score(q, k, head, without) {
    const { d_k } = this;
    if (this.kind !== "additive") {
      const scale = this.kind === "scaled" && !without.scaling ? 1 / Math.sqrt(d_k) : 1;
      return dot(q, head * d_k, k, head * d_k, d_k) * scale;
    }
    let sum = 0; // v^T tanh(q + k)
    for (let i = head * d_k; i < (head + 1) * d_k; i++) sum += this.vector[i] * Math.tanh(q[i] + k[i]);
    return sum;
  }

  /** {scores, weights, output}: of each head [H][S], and the heads' outputs side by side. */
  read(q, keys, values, bias, without, name) {
    const { h, d_v } = this;
    const scores = Array.from({ length: h }, (_, head) =>
      Float32Array.from(keys, (k, j) => this.score(q, k, head, without) + bias(head, j)),
    );
    const weights = scores.map(softmax);
    const output = new Float32Array(h * d_v);
    for (let head = 0; head < h; head++) {
      if (without.parts?.has(`${name}.${head}`)) continue;
      for (let j = 0; j < values.length; j++)
        for (let i = head * d_v; i < (head + 1) * d_v; i++) output[i] += weights[head][j] * values[j][i];
    }
    return { scores, weights, output };
  }
}

/** The sub-layer that acts on each position by itself: feed-forward (equation 2) or attention over parameters. */
function positionWise(model, name) {
  const over = model.config.attention_over_parameters;
  if (!over) {
    const [inner, outer] = [model.linear(`${name}.inner`), model.linear(`${name}.outer`)];
    return (x) => linear(linear(x, inner).map((y) => Math.max(0, y)), outer);
  }
  const { h_p, d_pk, d_pv, n_p } = over;
  const [query, output] = [model.linear(`${name}.query`), model.linear(`${name}.output`)];
  const [keys, values] = [model.tensors[`${name}.memory_keys`].data, model.tensors[`${name}.memory_values`].data];
  return (x) => {
    const [q, y] = [linear(x, query), new Float32Array(h_p * d_pv)];
    for (let head = 0; head < h_p; head++) {
      const weights = softmax(
        Float32Array.from({ length: n_p }, (_, j) => dot(q, head * d_pk, keys, (head * n_p + j) * d_pk, d_pk) * h_p ** 0.5),
      );
      for (let j = 0; j < n_p; j++)
        for (let i = 0; i < d_pv; i++)
          y[head * d_pv + i] += weights[j] * values[(head * n_p + j) * d_pv + i] * model.config.d_model ** 0.5;
    }
    return linear(y, output);
  };
}

/** What encoder and decoder layers share: the projections of their attentions, and LayerNorm(x + sublayer(x)). */
class Layer {
  constructor(model, name) {
    const { h, d_k, d_v } = model.config;
    const attention = (part) => new Attention(model.config, model.tensors[`${name}.${part}.attend.vector`]?.data);
    Object.assign(this, { model, name, sizes: { k: h * d_k, v: h * d_v } });
    this.qkv = model.linear(`${name}.self_attention.query_key_value`);
    this.self = attention("self_attention");
    this.selfOutput = model.linear(`${name}.self_attention.output`);
    if (model.has(`${name}.encoder_attention.query.weight`)) {
      this.query = model.linear(`${name}.encoder_attention.query`);
      this.keyValue = model.linear(`${name}.encoder_attention.key_value`);
      this.across = attention("encoder_attention");
      this.acrossOutput = model.linear(`${name}.encoder_attention.output`);
    }
    this.positionWise = positionWise(model, `${name}.position_wise`);
    this.norms = [0, 1, 2].map((i) => model.has(`${name}.residuals.${i}.norm.weight`) && model.linear(`${name}.residuals.${i}.norm`));
  }

  /** LayerNorm(x + y), where y is the output of a sub-layer (section 3.1). */
  residual(i, x, sublayer, without) {
    const off = without.parts?.has(`${this.name}.residuals.${i}`);
    return layerNorm(off ? x : add(x, sublayer()), this.norms[i]);
  }

  /** {q, k, v} of a position. */
  project(x, turn) {
    const { k, v } = this.sizes;
    const y = linear(x, this.qkv);
    return { q: turn(y.subarray(0, k)), k: turn(y.subarray(k, 2 * k)), v: y.subarray(2 * k, 2 * k + v) };
  }

  /** The keys and values that a decoder layer computes from the encoder's output. */
  memory(encoded) {
    const rows = encoded.map((x) => linear(x, this.keyValue));
    return { keys: rows.map((y) => y.subarray(0, this.sizes.k)), values: rows.map((y) => y.subarray(this.sizes.k)) };
  }
}

export class Transformer {
  constructor(config, tensors) {
    Object.assign(this, { config, tensors, N: config.N, vocabulary: tensors.embedding.shape[0] });
    const layers = (stack) => Array.from({ length: config.N }, (_, i) => new Layer(this, `${stack}.${i}`));
    [this.encoder, this.decoder] = [layers("encoder"), layers("decoder")];
    this.sourcePositions = encodingOf(config, tensors["source_positions.table"], false);
    this.targetPositions = encodingOf(config, tensors["target_positions.table"], true);
  }

  has(name) {
    return name in this.tensors;
  }

  linear(name) {
    return { weight: this.tensors[`${name}.weight`].data, bias: this.tensors[`${name}.bias`].data };
  }

  /** An embedding times sqrt(d_model) (section 3.4), plus its position. The decoder begins with a zero vector. */
  embed(id, encoding, position, without) {
    const d = this.config.d_model;
    const x = new Float32Array(d);
    if (id !== null) for (let i = 0; i < d; i++) x[i] = this.tensors.embedding.data[id * d + i] * d ** 0.5;
    return without.positions ? x : encoding.ofEmbeddings(x, position);
  }

  /** The encoder's output for `ids`, after which `padding` may follow. `trace` receives what each layer computed. */
  encode(ids, without = {}, trace = []) {
    const encoding = this.sourcePositions;
    const end = ids.indexOf(END);
    const place = ids.map((_, i) => (i <= end ? i : i - end - 1)); // padding is counted anew, as in Rows
    const hidden = ids.map((_, i) => i > end && !without.mask);
    let rows = ids.map((id, i) => this.embed(id, encoding, place[i], without));
    for (const layer of this.encoder) {
      const read = rows.map((x, i) => layer.project(x, (y) => (without.positions ? y : encoding.turn(y, place[i]))));
      const [keys, values] = [read.map((each) => each.k), read.map((each) => each.v)];
      const attended = read.map(({ q }, i) => {
        const bias = (head, j) => (hidden[j] && !hidden[i] ? -Infinity : without.positions ? 0 : encoding.ofScores(head, place[i], place[j]));
        return layer.self.read(q, keys, values, bias, without, `${layer.name}.self_attention`);
      });
      trace.push({ queries: read.map((each) => each.q), keys, values, attended });
      if (without.parts?.has(layer.name)) continue;
      rows = rows.map((x, i) => {
        x = layer.residual(0, x, () => linear(attended[i].output, layer.selfOutput), without);
        return layer.residual(1, x, () => layer.positionWise(x), without);
      });
    }
    return rows;
  }

  /** What a search begins with: the memory of each decoder layer, and no subword yet. */
  begin(ids, without = {}, trace = []) {
    const encoded = this.encode(ids, without, trace);
    const end = ids.indexOf(END);
    const shown = encoded.map((_, i) => i <= end || Boolean(without.mask));
    const memory = this.decoder.map((layer) => layer.memory(encoded));
    return { memory, shown, without, cache: this.decoder.map(() => ({ keys: [], values: [] })), length: 0 };
  }

  /** Read `id`, or null at the start: {logits, state}. The given state stays as it is, so hypotheses may share it. */
  next(state, id, trace = []) {
    const { without, length } = state;
    const encoding = this.targetPositions;
    let y = this.embed(id, encoding, length, without);
    const cache = this.decoder.map((layer, n) => {
      const { q, k, v } = layer.project(y, (x) => (without.positions ? x : encoding.turn(x, length)));
      const [keys, values] = [[...state.cache[n].keys, k], [...state.cache[n].values, v]];
      const bias = (head, j) => (without.positions ? 0 : encoding.ofScores(head, length, j));
      const own = layer.self.read(q, keys, values, bias, without, `${layer.name}.self_attention`);
      const x = layer.residual(0, y, () => linear(own.output, layer.selfOutput), without);
      const memory = state.memory[n];
      const query = linear(x, layer.query);
      const shown = (_, j) => (state.shown[j] ? 0 : -Infinity);
      const across = layer.across.read(query, memory.keys, memory.values, shown, without, `${layer.name}.encoder_attention`);
      trace.push({ own: { query: q, keys, values, ...own }, across: { query, ...memory, ...across } });
      if (!without.parts?.has(layer.name)) {
        const z = layer.residual(1, x, () => linear(across.output, layer.acrossOutput), without);
        y = layer.residual(2, z, () => layer.positionWise(z), without);
      }
      return { keys, values };
    });
    return { logits: linear(y, { weight: this.tensors.embedding.data }), state: { ...state, cache, length: length + 1 } };
  }
}
