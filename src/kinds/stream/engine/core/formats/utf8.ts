/** Whether bytes are UTF-8: no stray or missing continuation, nothing overlong, no surrogates. */
export function isUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at < end) {
    const first = bytes[at] as number;
    at += 1;
    if (first < 0x80) continue;
    const second = at < end ? (bytes[at] as number) : 0;
    if (first < 0xc2 || first > 0xf4 || (second & 0xc0) !== 0x80) return false;
    const length = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if (first === 0xe0 && second < 0xa0) return false;
    if (first === 0xed && second > 0x9f) return false;
    if (first === 0xf0 && second < 0x90) return false;
    if (first === 0xf4 && second > 0x8f) return false;
    if (at + length > end) return false;
    for (let i = 1; i < length; i += 1) {
      if (((bytes[at + i] as number) & 0xc0) !== 0x80) return false;
    }
    at += length;
  }
  return true;
}
