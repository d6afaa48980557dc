// The six positional encodings, as transformer/model/positions.py has them.

const BUCKETS = 32;
const FARTHEST = 128;

/** An encoding adds to the embeddings, adds to the scores of self-attention, or turns its queries and keys. */
class NoPositions {
  ofEmbeddings(x) {
    return x;
  }

  ofScores() {
    return 0;
  }

  turn(x) {
    return x;
  }
}

/** Sines and cosines of a position (section 3.5), interleaved. */
function sinusoids(position, width) {
  const angle = (i) => position * 10000 ** (-(i - (i % 2)) / width);
  return Float32Array.from({ length: width }, (_, i) => (i % 2 ? Math.cos(angle(i)) : Math.sin(angle(i))));
}

class SinusoidalPositions extends NoPositions {
  ofEmbeddings(x, position) {
    const more = sinusoids(position, x.length);
    return x.map((each, i) => each + more[i]);
  }
}

class LearnedPositions extends NoPositions {
  constructor({ shape, data }) {
    super();
    Object.assign(this, { last: shape[0] - 1, data });
  }

  ofEmbeddings(x, position) {
    const row = Math.min(position, this.last) * x.length;
    return x.map((each, i) => each + this.data[row + i] * Math.sqrt(x.length));
  }
}

class T5Positions extends NoPositions {
  constructor({ data }, h, causal) {
    super();
    const single = (causal ? BUCKETS : BUCKETS / 2) / 2;
    // Where the power is whole, rounding may put it above a whole number.
    const wide = (i) => Math.ceil(single * (FARTHEST / single) ** (i / single) - 1e-9);
    const starts = Array.from({ length: 2 * single - 1 }, (_, i) => (i < single - 1 ? i + 1 : wide(i - single + 1)));
    Object.assign(this, { data, h, causal, starts });
  }

  ofScores(head, query, key) {
    const behind = query - key;
    const distance = this.causal ? Math.max(behind, 0) : Math.abs(behind);
    const before = behind < 0 && !this.causal ? BUCKETS / 2 : 0;
    return this.data[(before + this.starts.filter((start) => start <= distance).length) * this.h + head];
  }
}

class ALiBiPositions extends NoPositions {
  constructor(h) {
    super();
    const below = 2 ** Math.floor(Math.log2(h));
    const slope = (i) => (i < below ? 2 ** ((-8 * (i + 1)) / below) : 2 ** ((-4 * (2 * (i - below) + 1)) / below));
    this.slopes = Array.from({ length: h }, (_, i) => slope(i));
  }

  ofScores(head, query, key) {
    return -this.slopes[head] * Math.abs(query - key);
  }
}

/** Each pair of elements of a head's query or key is turned by its own angle. */
class RotaryPositions extends NoPositions {
  constructor(d_k) {
    super();
    this.d_k = d_k;
  }

  turn(x, position) {
    const angles = sinusoids(position, this.d_k);
    return x.map((each, i) => {
      const [sine, cosine] = [angles[(i - (i % 2)) % this.d_k], angles[(i - (i % 2) + 1) % this.d_k]];
      return i % 2 ? x[i - 1] * sine + each * cosine : each * cosine - x[i + 1] * sine;
    });
  }
}

/** The encoding that a config names, for the encoder or (`causal`) the decoder. `table` holds what it has learnt. */
export function encodingOf(config, table, causal) {
  const made = {
    none: () => new NoPositions(),
    sinusoidal: () => new SinusoidalPositions(),
    learned: () => new LearnedPositions(table),
    t5: () => new T5Positions(table, config.h, causal),
    alibi: () => new ALiBiPositions(config.h),
    rotary: () => new RotaryPositions(config.d_k),
  };
  return made[config.positions]();
}
