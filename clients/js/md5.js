/**
 * MD5 (RFC 1321), for collections with the hash of google/rappor alone:
 *
 *     new Client(parameters, { secret, metric, md5 })
 */

const SINES = Array.from({ length: 64 }, (_, i) => (Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0);
const TURNS = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];

export function md5(message) {
  const view = new DataView(new ArrayBuffer((message.length + 72) & ~63));
  new Uint8Array(view.buffer).set(message);
  view.setUint8(message.length, 0x80);
  view.setBigUint64(view.byteLength - 8, BigInt(message.length) * 8n, true);
  const state = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  for (let at = 0; at < view.byteLength; at += 64) {
    let [a, b, c, d] = state;
    for (let i = 0; i < 64; i++) {
      const part = i >> 4;
      const mixed = [(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)][part];
      const place = [i, 5 * i + 1, 3 * i + 5, 7 * i][part] % 16;
      const sum = (a + mixed + SINES[i] + view.getInt32(at + 4 * place, true)) | 0;
      const n = TURNS[4 * part + (i % 4)];
      [a, d, c, b] = [d, c, b, (b + ((sum << n) | (sum >>> (32 - n)))) | 0];
    }
    [a, b, c, d].forEach((word, i) => (state[i] = (state[i] + word) | 0));
  }
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((word, i) => digest.setInt32(4 * i, word, true));
  return new Uint8Array(digest.buffer);
}
