/**
 * A client of RAPPOR for browsers and Node: from a value to a report that may leave the device.
 *
 * It follows docs/reference/privacy/rappor-wire.md and gives the same bits as `ckm rappor encode`.
 * Nothing is stored: the permanent response is a function of the secret. A device that loses its
 * secret (whoever clears the storage of a page does) draws another permanent response, and each one
 * tells as much of the value as the first.
 */

const encoder = new TextEncoder();
function bytesOf(text) {
  if (typeof text !== "string") return Uint8Array.from(text);
  if (!text.isWellFormed()) throw new TypeError("A text holds half a character.");
  return encoder.encode(text);
}

const joined = (...parts) => concatenated(parts);

function concatenated(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// ---- SHA-256 and HMAC (FIPS 180-4, RFC 2104)

// The first bits of the fraction of the k-th root of a prime, exactly.
const fraction = (n, k, bits) => {
  let [low, high] = [0n, n << bits];
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** k <= n << (bits * k)) low = middle;
    else high = middle;
  }
  return low & ((1n << bits) - 1n);
};
const PRIMES = [];
for (let n = 2n; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const K = PRIMES.map((n) => Number(fraction(n, 3n, 32n)));
const H = PRIMES.slice(0, 8).map((n) => Number(fraction(n, 2n, 32n)));

/** A message with the end that SHA-256 adds, in blocks of 64 bytes. */
function padded(message) {
  const view = new DataView(new ArrayBuffer((message.length + 72) & ~63));
  new Uint8Array(view.buffer).set(message);
  view.setUint8(message.length, 0x80);
  view.setBigUint64(view.byteLength - 8, BigInt(message.length) * 8n);
  return view;
}

function sha256(message) {
  const view = padded(message);
  const state = H.slice();
  const w = new Int32Array(64);
  const turn = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < view.byteLength; at += 64) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) w[i] = view.getInt32(at + 4 * i);
      else {
        const a = w[i - 15];
        const b = w[i - 2];
        w[i] =
          w[i - 16] + w[i - 7] +
          (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
      }
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = (state[i] + word) | 0));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => digest.setInt32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

function hmac(key, message) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  const inner = sha256(joined(block.map((b) => b ^ 0x36), message));
  return sha256(joined(block.map((b) => b ^ 0x5c), inner));
}

// ---- SHAKE128 (FIPS 202), lanes as pairs of 32 bits

const ROUNDS = (() => {
  const constants = [];
  let register = 1;
  for (let round = 0; round < 24; round++) {
    const pair = [0, 0];
    for (let j = 0; j < 7; j++) {
      const place = 2 ** j - 1;
      if (register & 1) pair[place >> 5] ^= 1 << (place & 31);
      register = register & 0x80 ? (register << 1) ^ 0x171 : register << 1;
    }
    constants.push(pair);
  }
  return constants;
})();
const [OFFSETS, PLACES] = (() => {
  const offsets = [];
  const places = [];
  let [x, y] = [1, 0];
  for (let t = 0; t < 24; t++) {
    offsets.push(((t + 1) * (t + 2) / 2) % 64);
    [x, y] = [y, (2 * x + 3 * y) % 5];
    places.push(x + 5 * y);
  }
  return [offsets, places];
})();

function keccak(s) {
  const c = new Int32Array(10);
  for (const [low, high] of ROUNDS) {
    for (let x = 0; x < 10; x++) c[x] = s[x] ^ s[x + 10] ^ s[x + 20] ^ s[x + 30] ^ s[x + 40];
    for (let x = 0; x < 10; x += 2) {
      const [l, h] = [c[(x + 2) % 10], c[(x + 3) % 10]];
      const dl = c[(x + 8) % 10] ^ ((l << 1) | (h >>> 31));
      const dh = c[(x + 9) % 10] ^ ((h << 1) | (l >>> 31));
      for (let y = x; y < 50; y += 10) {
        s[y] ^= dl;
        s[y + 1] ^= dh;
      }
    }
    let [l, h] = [s[2], s[3]];
    for (let t = 0; t < 24; t++) {
      const at = 2 * PLACES[t];
      const [nextLow, nextHigh] = [s[at], s[at + 1]];
      let n = OFFSETS[t];
      if (n >= 32) {
        [l, h] = [h, l];
        n -= 32;
      }
      s[at] = n ? (l << n) | (h >>> (32 - n)) : l;
      s[at + 1] = n ? (h << n) | (l >>> (32 - n)) : h;
      [l, h] = [nextLow, nextHigh];
    }
    for (let y = 0; y < 50; y += 10) {
      for (let x = 0; x < 10; x++) c[x] = s[y + x];
      for (let x = 0; x < 10; x++) s[y + x] ^= ~c[(x + 2) % 10] & c[(x + 4) % 10];
    }
    s[0] ^= low;
    s[1] ^= high;
  }
}

function shake128(message, length) {
  const rate = 168;
  const blocks = new Uint8Array((Math.floor(message.length / rate) + 1) * rate);
  blocks.set(message);
  blocks[message.length] = 0x1f;
  blocks[blocks.length - 1] |= 0x80;
  const view = new DataView(blocks.buffer);
  const state = new Int32Array(50);
  for (let at = 0; at < blocks.length; at += rate) {
    for (let i = 0; i < rate / 4; i++) state[i] ^= view.getInt32(at + 4 * i, true);
    keccak(state);
  }
  const digest = new Uint8Array(length);
  for (let at = 0; at < length; at += rate) {
    if (at) keccak(state);
    for (let i = at; i < Math.min(at + rate, length); i++) {
      const place = i - at;
      digest[i] = state[place >> 2] >>> (8 * (place & 3));
    }
  }
  return digest;
}

// ---- MurmurHash3_x64_128, in words of 64 bits

const WORD = 2n ** 64n - 1n;
const turned = (x, n) => ((x << n) | (x >> (64n - n))) & WORD;
const littleEndian = (bytes, at, size = 8) => {
  let word = 0n;
  for (let i = size - 1; i >= 0; i--) word = (word << 8n) | BigInt(bytes[at + i] ?? 0);
  return word;
};
const asBytes = (words) => new Uint8Array(BigUint64Array.from(words).buffer); // little endian

function murmur3(message, seed) {
  const [c1, c2] = [0x87c37b91114253d5n, 0x4cf5ad432745937fn];
  let [a, b] = [BigInt(seed), BigInt(seed)];
  const first = (k) => (turned((k * c1) & WORD, 31n) * c2) & WORD;
  const second = (k) => (turned((k * c2) & WORD, 33n) * c1) & WORD;
  const whole = message.length & ~15;
  for (let at = 0; at < whole; at += 16) {
    a ^= first(littleEndian(message, at));
    a = ((turned(a, 27n) + b) * 5n + 0x52dce729n) & WORD;
    b ^= second(littleEndian(message, at + 8));
    b = ((turned(b, 31n) + a) * 5n + 0x38495ab5n) & WORD;
  }
  b ^= second(littleEndian(message, whole + 8));
  a ^= first(littleEndian(message, whole));
  const end = (k) => {
    k = ((k ^ (k >> 33n)) * 0xff51afd7ed558ccdn) & WORD;
    k = ((k ^ (k >> 33n)) * 0xc4ceb9fe1a85ec53n) & WORD;
    return k ^ (k >> 33n);
  };
  a ^= BigInt(message.length);
  b ^= BigInt(message.length);
  a = (a + b) & WORD;
  b = (b + a) & WORD;
  a = end(a);
  b = end(b);
  a = (a + b) & WORD;
  b = (b + a) & WORD;
  return asBytes([a, b]);
}

// ---- parameters

/** Mantissa and exponent of a number from 0 on: x = mantissa * 2 ** exponent, exactly. */
function binary(x) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const exponent = Number(bits >> 52n) & 0x7ff;
  const fraction = bits & (2n ** 52n - 1n);
  return [exponent ? fraction | (1n << 52n) : fraction, (exponent || 1) - 1075];
}

/** A number as C's %a prints it. */
function floatHex(x) {
  if (!x) return "0x0.0p+0";
  const [mantissa, exponent] = binary(x);
  const digits = (mantissa & (2n ** 52n - 1n)).toString(16).padStart(13, "0");
  const power = exponent + 52;
  return `0x${mantissa >> 52n}.${digits}p${power < 0 ? "" : "+"}${power}`;
}

/** How many of the 2 ** 64 words stand for yes; halves go to the even neighbour. */
function threshold(probability) {
  const [mantissa, exponent] = binary(probability);
  const shift = BigInt(exponent + 64);
  if (shift >= 0n) return mantissa << shift;
  const [unit, half] = [1n << -shift, 1n << (-shift - 1n)];
  const [whole, rest] = [mantissa >> -shift, mantissa & (unit - 1n)];
  return whole + (rest > half || (rest === half && whole & 1n) ? 1n : 0n);
}

/** Random bytes, of the system alone. */
function randomBytes(size) {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
  return bytes;
}

/** A secret for a device: to be kept there, and to be sent nowhere. */
export const newSecret = () => randomBytes(32);

// ---- a client

const bitAt = (bytes, i) => (bytes[i >> 3] >> (i & 7)) & 1;
const isWhole = (value, last) => Number.isInteger(value) && value >= 0 && value <= last;

export class Client {
  #secret;
  #key;
  #name;
  #md5;

  /**
   * @param parameters what the file of parameters holds, its fingerprint included
   * @param secret     bytes, at least 16
   * @param metric     the name of the question
   * @param client     tells clients that share one secret apart: a text, bytes or a whole number
   * @param cohort     by default a function of secret and client
   * @param md5        for the hash of google/rappor: what md5.js exports
   */
  constructor(parameters, { secret, metric, client = "", cohort, md5 }) {
    if (!(secret instanceof Uint8Array) || secret.length < 16)
      throw new TypeError("A secret is an Uint8Array of 16 bytes or more.");
    this.parameters = Object.freeze({ response: "bits", ...parameters });
    this.metric = metric;
    this.#secret = secret.slice();
    this.#md5 = md5;
    this.#name = bytesOf(typeof client === "number" ? String(client) : client);
    const { n_bits, n_hashes, n_cohorts, hash, f } = this.parameters;
    const shape = `${n_bits},${n_hashes},${n_cohorts},${hash},${floatHex(f)}`;
    const purpose = `rappor permanent response:${shape}:${metric}`;
    this.#key = hmac(this.#secret, bytesOf(purpose));
    this.cohort = cohort ?? this.#ownCohort(n_cohorts);
    if (!isWhole(this.cohort, n_cohorts - 1))
      throw new RangeError(`A cohort is a whole number in 0..${n_cohorts - 1}.`);
  }

  #ownCohort(nCohorts) {
    if (nCohorts === 1) return 0;
    const key = hmac(this.#secret, bytesOf("rappor cohort"));
    return Number(littleEndian(sha256(joined(key, this.#name)), 0) % BigInt(nCohorts));
  }

  /** The places of the bits that a value sets. */
  bits(value) {
    const { n_bits: k, n_hashes: h, n_cohorts: m, hash } = this.parameters;
    if (hash === "index" && k === 1) {
      if (typeof value !== "boolean") throw new TypeError("The answer is true or false.");
      return value ? [0] : [];
    }
    if (hash === "index" || hash === "hadamard") {
      const last = hash === "index" ? k - 1 : m - 2;
      if (!isWhole(value, last)) throw new RangeError(`A value is a whole number in 0..${last}.`);
      if (hash === "index") return [value];
      let parity = 0;
      for (let word = (value + 1) & this.cohort; word; word &= word - 1) parity ^= 1;
      return [parity];
    }
    if (typeof value !== "string" && !(value instanceof Uint8Array))
      throw new TypeError("A value is a text or bytes.");
    const text = bytesOf(value);
    const places = [];
    if (hash === "md5" && this.#md5) {
      const start = [24, 16, 8, 0].map((shift) => (this.cohort >> shift) & 255);
      const digest = this.#md5(joined(start, text));
      const size = k <= 256 ? 1 : 2;
      for (let i = 0; i < h; i++) places.push(Number(littleEndian(digest, size * i, size)) % k);
    } else if (hash === "mmh3") {
      for (let i = 0; i < h; i += 4) {
        const digest = murmur3(text, this.cohort + 2 ** 24 * (i / 4));
        for (let j = 0; j < Math.min(4, h - i); j++)
          places.push(Number(littleEndian(digest, 4 * j, 4)) % k);
      }
    } else throw new RangeError(`No hash ${hash}: is md5 given?`);
    return places;
  }

  /** The permanent response to a value, packed. It stays on the device. */
  permanent(value) {
    const { n_bits: k, f } = this.parameters;
    const bloom = new Uint8Array(Math.ceil(k / 8));
    for (const i of this.bits(value)) bloom[i >> 3] |= 1 << (i & 7);
    if (!f) return bloom;
    const half = threshold(f / 2);
    const width = half % 2n ** 56n ? 2 : 1;
    const text = joined(this.#key, this.#name, bloom);
    const stream = shake128(text, width * k);
    const shift = BigInt(64 - 8 * width);
    const limits = [half, 2n * half];
    const tops = limits.map((limit) => Number(limit >> shift));
    let whole;
    const response = new Uint8Array(bloom.length);
    for (let i = 0; i < k; i++) {
      const word = width === 1 ? stream[i] : (stream[i] << 8) | stream[k + i];
      const [one, either] = limits.map((limit, at) => {
        if (word !== tops[at] || limit === BigInt(tops[at]) << shift) return word < tops[at];
        whole ??= shake128(text, 8 * k);
        let u = 0n;
        for (let j = 0; j < 8; j++) u = (u << 8n) | BigInt(whole[j * k + i]);
        return u < limit;
      });
      if (either ? one : bitAt(bloom, i)) response[i >> 3] |= 1 << (i & 7);
    }
    return response;
  }

  /** What tells a receiver that this client has answered in a period; each has its own. */
  token(period) {
    const purpose = `rappor token:${this.parameters.fingerprint}:${this.metric}:${period}`;
    return hmac(hmac(this.#secret, bytesOf(purpose)), this.#name).slice(0, 16);
  }

  /** One report: what may leave the device. `random` is for tests alone. */
  encode(value, random = randomBytes) {
    const { n_bits: k, p, q, response } = this.parameters;
    const kept = this.permanent(value);
    const bits = new Uint8Array(kept.length);
    if (response === "symbol") {
      const [isNew] = flip(1, () => 1, 0, k * p, random);
      const drawn = Number(littleEndian(random(8), 0) % BigInt(k));
      let own = 0;
      while (own < k - 1 && !bitAt(kept, own)) own++;
      const symbol = isNew ? drawn : own;
      bits[symbol >> 3] |= 1 << (symbol & 7);
    } else {
      flip(k, (i) => bitAt(kept, i), p, q, random).forEach((yes, i) => {
        if (yes) bits[i >> 3] |= 1 << (i & 7);
      });
    }
    return { cohort: this.cohort, bits };
  }
}

/** Answer yes with probability q where a bit is set and p elsewhere, exact to 2 ** -64. */
function flip(k, bit, p, q, random) {
  const limits = [threshold(p), threshold(q)];
  const tops = limits.map((limit) => Number(limit >> 56n));
  const rests = limits.map((limit) => limit & (2n ** 56n - 1n));
  const first = random(k);
  const answers = new Array(k);
  const ties = [];
  for (let i = 0; i < k; i++) {
    const one = bit(i);
    answers[i] = first[i] < tops[one];
    if (first[i] === tops[one] && (rests[0] || rests[1])) ties.push(i);
  }
  if (ties.length) {
    const words = random(8 * ties.length);
    ties.forEach((i, at) => {
      answers[i] = (littleEndian(words, 8 * at) & (2n ** 56n - 1n)) < rests[bit(i)];
    });
  }
  return answers;
}

/** Zeros and ones as google/rappor writes them, bit 0 at the right. */
export const textOf = (report, parameters) =>
  Array.from({ length: parameters.n_bits }, (_, i) => bitAt(report.bits, i)).reverse().join("");

/** A file of reports, version 2: to be sent, or to be summed by `ckm rappor sum`. */
export const batch = (reports, parameters) =>
  framed({ format: "rappor-reports", version: 2, parameters }, reports);

/** The body of a request to a receiver: `report` of `encode`, in the period it told. */
export const sending = (client, report, period) =>
  framed(
    {
      format: "rappor-sending",
      version: 1,
      fingerprint: client.parameters.fingerprint,
      metric: client.metric,
      period,
    },
    [{ ...report, token: client.token(period) }],
  );

function framed(head, reports) {
  // A file is known by its first bytes, which have a blank after the colon.
  const line = JSON.stringify(head).replace(":", ": ") + "\n";
  const rows = reports.flatMap(({ token = [], cohort, bits }) => [
    token,
    [0, 8, 16, 24].map((shift) => (cohort >>> shift) & 255),
    bits,
  ]);
  const whole = concatenated([bytesOf(line), ...rows]);
  return joined(whole, sha256(whole));
}

// For fingerprint.js.
export { PRIMES, WORD, asBytes, bytesOf, floatHex, fraction, littleEndian, turned };
