/** MD5 (RFC 1321), only for `hashmod` in relabelling, which must give Prometheus's results. */

const shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const constants = Int32Array.from({ length: 64 }, (_, index) =>
  Math.floor(Math.abs(Math.sin(index + 1)) * 2 ** 32),
);

/** The digest's last eight bytes as one big-endian number. */
export function md5Tail(text: string): bigint {
  const words = digestWords(new TextEncoder().encode(text));
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setInt32(0, words[2] as number, true);
  bytes.setInt32(4, words[3] as number, true);
  return bytes.getBigUint64(0, false);
}

function digestWords(message: Uint8Array): Int32Array {
  const padded = new Uint8Array((((message.length + 8) >> 6) + 1) * 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, (message.length * 8) >>> 0, true);
  view.setUint32(padded.length - 4, Math.floor(message.length / 2 ** 29), true);
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  for (let offset = 0; offset < padded.length; offset += 64) mixBlock(state, view, offset);
  return state;
}

function mixBlock(state: Int32Array, view: DataView, offset: number): void {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  for (let step = 0; step < 64; step += 1) {
    const round = step >> 4;
    const { mixed, word } = roundOf(round, step, b, c, d);
    const sum =
      (a + mixed + (constants[step] as number) + view.getInt32(offset + word * 4, true)) | 0;
    const shift = shifts[round * 4 + (step & 3)] as number;
    [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
  }
  state[0] = (state[0] as number) + a;
  state[1] = (state[1] as number) + b;
  state[2] = (state[2] as number) + c;
  state[3] = (state[3] as number) + d;
}

function roundOf(
  round: number,
  step: number,
  b: number,
  c: number,
  d: number,
): { mixed: number; word: number } {
  if (round === 0) return { mixed: (b & c) | (~b & d), word: step };
  if (round === 1) return { mixed: (d & b) | (~d & c), word: (5 * step + 1) & 15 };
  if (round === 2) return { mixed: b ^ c ^ d, word: (3 * step + 5) & 15 };
  return { mixed: c ^ (b | ~d), word: (7 * step) & 15 };
}
