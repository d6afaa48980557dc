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
    const scores = Array.from({ length: h }, (_, head) => {
      const row = new Float32Array(keys.length);
      for (let j = 0; j < row.length; j++) row[j] = this.score(q, keys[j], head, without) + bias(head, j);
      return row;
    });
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

/** What the heads have read, side by side, times W^O (section 3.2.2). */
const joined = (attended, output) =>
  linear(
    attended.map((each) => each.output),
    output,
  );

/** The sub-layer that acts on each position by itself: feed-forward (equation 2) or attention over parameters. */
function positionWise(model, name) {
  const over = model.config.attention_over_parameters;
  if (!over) {
    const [inner, outer] = [model.linear(`${name}.inner`), model.linear(`${name}.outer`)];
    const relu = (y) => y.map((each) => Math.max(0, each));
    return (rows) => linear(linear(rows, inner).map(relu), outer);
  }
  const { h_p, d_pk, d_pv, n_p } = over;
  const [query, output] = [model.linear(`${name}.query`), model.linear(`${name}.output`)];
  const [keys, values] = [model.tensors[`${name}.memory_keys`].data, model.tensors[`${name}.memory_values`].data];
  const read = (q) => {
    const y = new Float32Array(h_p * d_pv);
    for (let head = 0; head < h_p; head++) {
      const score = (_, j) => dot(q, head * d_pk, keys, (head * n_p + j) * d_pk, d_pk) * h_p ** 0.5;
      const weights = softmax(Float32Array.from({ length: n_p }, score));
      for (let j = 0; j < n_p; j++)
        for (let i = 0; i < d_pv; i++)
          y[head * d_pv + i] += weights[j] * values[(head * n_p + j) * d_pv + i] * model.config.d_model ** 0.5;
    }
    return y;
  };
  return (rows) => linear(linear(rows, query).map(read), output);
}

/** What encoder and decoder layers share: the projections of their attentions, and LayerNorm(x + sublayer(x)). */
class Layer {
  constructor(model, name) {
    const { h, d_k, d_v } = model.config;
    const attention = (part) => new Attention(model.config, model.tensors[`${name}.${part}.attend.vector`]?.data);
    Object.assign(this, { model, name, sizes: { k: h * d_k, v: h * d_v } });
    this.queryKeyValue = model.linear(`${name}.self_attention.query_key_value`);
    this.self = attention("self_attention");
    this.selfOutput = model.linear(`${name}.self_attention.output`);
    if (name.startsWith("decoder")) {
      this.query = model.linear(`${name}.encoder_attention.query`);
      this.keyValue = model.linear(`${name}.encoder_attention.key_value`);
      this.across = attention("encoder_attention");
      this.acrossOutput = model.linear(`${name}.encoder_attention.output`);
    }
    this.positionWise = positionWise(model, `${name}.position_wise`);
    const norms = name.startsWith("decoder") ? [0, 1, 2] : [0, 1];
    this.norms = norms.map((i) => model.linear(`${name}.residuals.${i}.norm`));
  }

  /** LayerNorm(x + y) for each row, where the ys are the output of a sub-layer (section 3.1). */
  residual(i, rows, sublayer, without) {
    const ys = without.parts?.has(`${this.name}.residuals.${i}`) ? null : sublayer();
    return rows.map((x, r) => layerNorm(ys ? add(x, ys[r]) : x, this.norms[i]));
  }

  /** {q, k, v} of each row. */
  project(rows, turn) {
    const { k, v } = this.sizes;
    return linear(rows, this.queryKeyValue).map((y, r) => ({
      q: turn(y.subarray(0, k), r),
      k: turn(y.subarray(k, 2 * k), r),
      v: y.subarray(2 * k, 2 * k + v),
    }));
  }

  /** The keys and values that a decoder layer computes from the encoder's output. */
  memory(encoded) {
    const rows = linear(encoded, this.keyValue);
    return { keys: rows.map((y) => y.subarray(0, this.sizes.k)), values: rows.map((y) => y.subarray(this.sizes.k)) };
  }
}

export class Transformer {
  constructor(config, tensors) {
    Object.assign(this, { config, tensors });
    const layers = (stack) => Array.from({ length: config.N }, (_, i) => new Layer(this, `${stack}.${i}`));
    [this.encoder, this.decoder] = [layers("encoder"), layers("decoder")];
    this.sourcePositions = encodingOf(config, tensors["source_positions.table"], false);
    this.targetPositions = encodingOf(config, tensors["target_positions.table"], true);
  }

  /** The weights and the bias of a linear map or of a LayerNorm. */
  linear(name) {
    return { weight: this.tensors[`${name}.weight`].data, bias: this.tensors[`${name}.bias`].data };
  }

  /** An embedding times sqrt(d_model) (section 3.4), plus its position. The decoder begins with a zero vector. */
  embed(id, encoding, position, without) {
    const d = this.config.d_model;
    const x = new Float32Array(d);
    if (id != null) for (let i = 0; i < d; i++) x[i] = this.tensors.embedding.data[id * d + i] * d ** 0.5;
    return without.positions ? x : encoding.ofEmbeddings(x, position);
  }

  /** The encoder's output for `ids`, after which padding may follow. `trace` receives what each layer computed.
   *
   * This is a generator, as all that takes long: it yields now and then, so that the page can answer meanwhile.
   */
  *encode(ids, without = {}, trace = []) {
    const encoding = this.sourcePositions;
    const end = ids.indexOf(END);
    const place = ids.map((_, i) => (i <= end ? i : i - end - 1)); // padding is counted anew, as in Rows
    const hidden = (i, j) => j > end && i <= end && !without.mask;
    let rows = ids.map((id, i) => this.embed(id, encoding, place[i], without));
    for (const layer of this.encoder) {
      const read = layer.project(rows, (y, i) => (without.positions ? y : encoding.turn(y, place[i])));
      const [queries, keys, values] = ["q", "k", "v"].map((name) => read.map((each) => each[name]));
      const attended = queries.map((q, i) => {
        const score = (head, j) => (without.positions ? 0 : encoding.ofScores(head, place[i], place[j]));
        const bias = (head, j) => (hidden(i, j) ? -Infinity : score(head, j));
        return layer.self.read(q, keys, values, bias, without, `${layer.name}.self_attention`);
      });
      trace.push({ queries, keys, values, attended });
      yield;
      if (without.parts?.has(layer.name)) continue;
      rows = layer.residual(0, rows, () => joined(attended, layer.selfOutput), without);
      yield;
      rows = layer.residual(1, rows, () => layer.positionWise(rows), without);
    }
    return rows;
  }

  /** What a search begins with: the memory of each decoder layer, and a hypothesis without subwords. */
  *begin(ids, without = {}, trace = []) {
    const encoded = yield* this.encode(ids, without, trace);
    const end = ids.indexOf(END);
    const hidden = encoded.map((_, i) => (i > end && !without.mask ? -Infinity : 0));
    const memory = this.decoder.map((layer) => layer.memory(encoded));
    return { memory, hidden, without, cache: this.decoder.map(() => ({ keys: [], values: [] })), length: 0 };
  }

  /** Hypotheses of one sentence and length, each {state, token}, read their last subword, if any: [{logits, state}].
   *
   * The given states stay as they are. `trace` receives what each layer computed for the first hypothesis.
   */
  next(hypotheses, trace = []) {
    const [{ without, length, memory, hidden }] = hypotheses.map(({ state }) => state);
    const encoding = this.targetPositions;
    const bias = (head, j) => (without.positions ? 0 : encoding.ofScores(head, length, j));
    let rows = hypotheses.map(({ token }) => this.embed(token, encoding, length, without));
    const caches = this.decoder.map((layer, n) => {
      const read = layer.project(rows, (y) => (without.positions ? y : encoding.turn(y, length)));
      const cache = read.map(({ k, v }, r) => {
        const { keys, values } = hypotheses[r].state.cache[n];
        return { keys: [...keys, k], values: [...values, v] };
      });
      const own = read.map(({ q }, r) => {
        const { keys, values } = cache[r];
        return layer.self.read(q, keys, values, bias, without, `${layer.name}.self_attention`);
      });
      const xs = layer.residual(0, rows, () => joined(own, layer.selfOutput), without);
      const { keys, values } = memory[n];
      const queries = linear(xs, layer.query);
      const across = queries.map((q) =>
        layer.across.read(q, keys, values, (_, j) => hidden[j], without, `${layer.name}.encoder_attention`),
      );
      trace.push({
        own: { query: read[0].q, ...cache[0], ...own[0] },
        across: { query: queries[0], keys, values, ...across[0] },
      });
      if (!without.parts?.has(layer.name)) {
        const zs = layer.residual(1, xs, () => joined(across, layer.acrossOutput), without);
        rows = layer.residual(2, zs, () => layer.positionWise(zs), without);
      }
      return cache;
    });
    return linear(rows, { weight: this.tensors.embedding.data }).map((logits, r) => ({
      logits,
      state: { ...hypotheses[r].state, cache: caches.map((cache) => cache[r]), length: length + 1 },
    }));
  }
}
