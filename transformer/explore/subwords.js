// Subwords (section 5.1): text to ids and back with the byte-pair encoding that SentencePiece has learnt.
import { END, UNKNOWN } from "./network.js";

const BLANK = "\u2581";
const [NORMAL, USER_DEFINED] = [1, 4];
const utf8 = new TextEncoder();
const text = new TextDecoder("utf-8", { ignoreBOM: true });

/** The fields of a protocol buffer, in order: [number, value]. A value is a number or bytes. */
function* fields(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  const varint = () => {
    for (let [value, unit] = [0, 1]; ; unit *= 128) {
      const byte = bytes[at++];
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    if ((key & 7) === 0) yield [key >> 3, varint()];
    else if ((key & 7) === 5) [at, key].length && (yield [key >> 3, view.getFloat32((at += 4) - 4, true)]);
    else {
      const size = (key & 7) === 1 ? 8 : varint();
      at += size;
      yield [key >> 3, bytes.subarray(at - size, at)];
    }
  }
}

/** NFKC and more, by the table that the model file holds: a trie of what is replaced, then the replacements. */
class Normaliser {
  constructor(charsmap) {
    const size = new DataView(charsmap.buffer, charsmap.byteOffset).getUint32(0, true);
    this.trie = new Uint32Array(charsmap.slice(4, 4 + size).buffer);
    this.replacements = charsmap.subarray(4 + size);
  }

  /** The replacement of the longest prefix of bytes[at...] that has one, and its length: [text, length]. */
  prefix(bytes, at) {
    const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
    let found = null;
    let [node, unit] = [0, this.trie[0]];
    node ^= offset(unit);
    for (let i = at; i < bytes.length; i++) {
      node ^= bytes[i];
      unit = this.trie[node];
      if ((unit & 0x800000ff) !== bytes[i]) break;
      node ^= offset(unit);
      if ((unit >>> 8) & 1) found = [this.trie[node] & 0x7fffffff, i + 1 - at];
    }
    if (!found) {
      const [lead] = [bytes[at]];
      const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      return [text.decode(bytes.subarray(at, at + length)), length];
    }
    const end = this.replacements.indexOf(0, found[0]);
    return [text.decode(this.replacements.subarray(found[0], end)), found[1]];
  }
}

export class Subwords {
  constructor(bytes) {
    this.pieces = [];
    this.ids = new Map();
    this.whole = []; // pieces that are never split: the symbols of trees
    let charsmap;
    for (const [number, value] of fields(bytes)) {
      if (number === 1) {
        const piece = { kind: NORMAL };
        for (const [field, content] of fields(value)) {
          if (field === 1) piece.text = text.decode(content);
          if (field === 2) piece.score = content;
          if (field === 3) piece.kind = content;
        }
        if (piece.kind === USER_DEFINED) this.whole.push(piece.text);
        if ([NORMAL, USER_DEFINED].includes(piece.kind)) this.ids.set(piece.text, this.pieces.length);
        this.pieces.push(piece);
      }
      if (number === 3) for (const [field, content] of fields(value)) if (field === 2) charsmap = content;
    }
    this.normaliser = new Normaliser(charsmap);
    this.whole.sort((one, other) => other.length - one.length);
  }

  /** The text as the subwords see it: normalised, each blank as U+2581, one of them before the first word. */
  normalise(line) {
    const bytes = utf8.encode(line);
    let result = "";
    for (let at = 0; at < bytes.length;) {
      const symbol = this.whole.length && this.whole.find((each) => text.decode(bytes.subarray(at)).startsWith(each));
      let [part, length] = symbol ? [symbol, utf8.encode(symbol).length] : this.normaliser.prefix(bytes, at);
      at += length;
      if (result === "" || result.endsWith(BLANK)) part = part.replace(/^ +/, "");
      result += part.replaceAll(" ", BLANK);
    }
    return result && BLANK + result.replace(/\u2581+$/, "");
  }

  /** The pieces of a line. A run of unknown characters is one piece. */
  split(line) {
    const normal = this.normalise(line);
    const parts = []; // {text, frozen}
    for (let at = 0; at < normal.length;) {
      const symbol = this.whole.find((each) => normal.startsWith(each, at));
      const part = symbol ?? String.fromCodePoint(normal.codePointAt(at));
      parts.push({ text: part, frozen: symbol !== undefined });
      at += part.length;
    }
    for (;;) {
      let [best, place] = [-Infinity, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        if (parts[i].frozen || parts[i + 1].frozen) continue;
        const id = this.ids.get(parts[i].text + parts[i + 1].text);
        if (id !== undefined && this.pieces[id].score > best) [best, place] = [this.pieces[id].score, i];
      }
      if (place < 0) break;
      parts.splice(place, 2, { text: parts[place].text + parts[place + 1].text, frozen: false });
    }
    return parts.reduce((pieces, { text: part }) => {
      const unknown = !this.ids.has(part);
      if (unknown && pieces.at(-1)?.unknown) pieces.at(-1).text += part;
      else pieces.push({ text: part, unknown });
      return pieces;
    }, []);
  }

  /** The ids of a line, closed by the end of sentence. */
  encode(line) {
    return [...this.split(line).map(({ text: part }) => this.ids.get(part) ?? UNKNOWN), END];
  }

  /** The text of ids. */
  decode(ids) {
    const parts = ids.map((id) =>
      id === UNKNOWN ? " \u2047 " : this.ids.has(this.pieces[id].text) ? this.pieces[id].text : "",
    );
    let start = true;
    return parts
      .map((part) => {
        const own = start && part.startsWith(BLANK) ? part.slice(1) : part;
        start &&= own === "";
        return own.replaceAll(BLANK, " ");
      })
      .join("");
  }
}
