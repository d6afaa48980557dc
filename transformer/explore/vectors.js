// Products, sums and norms of vectors, and tensors from a file.

const HALVES = Float32Array.from({ length: 65536 }, (_, i) => {
  const [exponent, fraction] = [(i >> 10) & 31, (i & 1023) / 1024];
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
  return i >> 15 ? -size : size;
});

/** An array of `size` numbers. A loop takes a tenth of the time of `from`. */
function filled(Kind, size, value) {
  const array = new Kind(size);
  for (let i = 0; i < size; i++) array[i] = value(i);
  return array;
}

/** The bytes of a text in base64. */
export function bytesOf(base64) {
  const letters = atob(base64);
  return filled(Uint8Array, letters.length, (i) => letters.charCodeAt(i));
}

/** The tensors of a safetensors file, by name: {shape, data}. Its numbers are float32 or float16. */
export function readTensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  delete head.__metadata__;
  for (const [name, { dtype, shape, data_offsets }] of Object.entries(head)) {
    const bytes = buffer.slice(...data_offsets.map((each) => 8 + size + each));
    const halves = dtype === "F16" && new Uint16Array(bytes);
    const data = halves ? filled(Float32Array, halves.length, (i) => HALVES[halves[i]]) : new Float32Array(bytes);
    head[name] = { shape, data };
  }
  return head;
}

/** The product of `n` elements of `a`, from place `i`, and of `b`, from place `j`. */
export function dot(a, i, b, j, n) {
  let [p, q, r, s] = [0, 0, 0, 0]; // four sums take half the time of one
  let k = 0;
  for (; k + 3 < n; k += 4) {
    p += a[i + k] * b[j + k];
    q += a[i + k + 1] * b[j + k + 1];
    r += a[i + k + 2] * b[j + k + 2];
    s += a[i + k + 3] * b[j + k + 3];
  }
  for (; k < n; k++) p += a[i + k] * b[j + k];
  return p + q + r + s;
}

/** W x + b for each of some rows x. The rows of W lie one after the other, and each is read once for four x. */
export function linear(rows, { weight, bias }) {
  const n = rows[0].length;
  const outputs = weight.length / n;
  const result = rows.map(() => new Float32Array(outputs));
  let r = 0;
  for (; r + 1 < rows.length; r += 4) {
    const [a, b, c, d] = [0, 1, 2, 3].map((i) => Math.min(r + i, rows.length - 1));
    const [xa, xb, xc, xd] = [rows[a], rows[b], rows[c], rows[d]];
    for (let o = 0; o < outputs; o++) {
      const first = o * n;
      let [p, q, s, t] = [0, 0, 0, 0];
      for (let k = 0; k < n; k++) {
        const w = weight[first + k];
        p += w * xa[k];
        q += w * xb[k];
        s += w * xc[k];
        t += w * xd[k];
      }
      const more = bias ? bias[o] : 0;
      result[a][o] = p + more;
      result[b][o] = q + more;
      result[c][o] = s + more;
      result[d][o] = t + more;
    }
  }
  if (r < rows.length)
    for (let o = 0; o < outputs; o++) result[r][o] = dot(weight, o * n, rows[r], 0, n) + (bias ? bias[o] : 0);
  return result;
}

export const add = (x, y) => x.map((each, i) => each + y[i]);

/** LayerNorm, with the epsilon of the authors' code. */
export function layerNorm(x, { weight, bias }) {
  const mean = x.reduce((sum, each) => sum + each, 0) / x.length;
  const variance = x.reduce((sum, each) => sum + (each - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(variance + 1e-6);
  return x.map((each, i) => (each - mean) * scale * weight[i] + bias[i]);
}

export function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = scores.map((each) => Math.exp(each - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((each) => each / sum);
}

export function logSoftmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const sum = Math.log(scores.reduce((total, each) => total + Math.exp(each - most), 0));
  return scores.map((each) => each - most - sum);
}
