/**
 * The fingerprint of parameters (BLAKE2b, RFC 7693): does a file of parameters say what it said
 * when it was made? A receiver asks that of every batch; a page can ask before it asks anybody.
 */

import { PRIMES, WORD, asBytes, bytesOf, floatHex, fraction, littleEndian, turned } from "./rappor.js";

const IV = PRIMES.slice(0, 8).map((n) => fraction(n, 2n, 64n));
const SIGMA = [
  "0123456789abcdef", "ea489fd61c02b753", "b8c052fdae367194", "7931dcbe265a40f8", "905724afe1bc683d",
  "2c6a0b834d75fe19", "c51fed4a0763928b", "db7ec13950f4862a", "6fe9b308c2d714a5", "a2847615fb9e3cd0",
].map((row) => Array.from(row, (digit) => parseInt(digit, 16)));

function blake2b(message, size) {
  const state = IV.slice();
  state[0] ^= 0x01010000n ^ BigInt(size);
  for (let at = 0; at === 0 || at < message.length; at += 128) {
    const m = Array.from({ length: 16 }, (_, i) => littleEndian(message, at + 8 * i));
    const v = [...state, ...IV];
    v[12] ^= BigInt(Math.min(at + 128, message.length));
    if (at + 128 >= message.length) v[14] ^= WORD;
    for (let round = 0; round < 12; round++) {
      const row = SIGMA[round % 10];
      for (let i = 0; i < 8; i++) {
        const shift = i >> 2;
        const [a, b, c, d] = [0, 1, 2, 3].map((part) => 4 * part + ((i + shift * part) & 3));
        const mix = (word, one, two) => {
          v[a] = (v[a] + v[b] + word) & WORD;
          v[d] = turned(v[d] ^ v[a], 64n - one);
          v[c] = (v[c] + v[d]) & WORD;
          v[b] = turned(v[b] ^ v[c], 64n - two);
        };
        mix(m[row[2 * i]], 32n, 24n);
        mix(m[row[2 * i + 1]], 16n, 63n);
      }
    }
    for (let i = 0; i < 8; i++) state[i] ^= v[i] ^ v[i + 8];
  }
  return asBytes(state).slice(0, size);
}

export function fingerprintOf(parameters) {
  const { n_bits, n_hashes, n_cohorts, f, p, q, hash, response } = parameters;
  const reals = [f, p, q].map(floatHex).join(",");
  const end = response === "symbol" ? ",symbol" : "";
  const text = `rappor:${n_bits},${n_hashes},${n_cohorts},${reals},${hash}${end}`;
  return Array.from(blake2b(bytesOf(text), 8), (b) => b.toString(16).padStart(2, "0")).join("");
}
