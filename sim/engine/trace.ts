/**
 * What happened, as a hash always and as text on demand. Two runs of one seed are the same run
 * exactly when their hashes are equal, so everything that could differ goes in here.
 */
export class Trace {
  readonly #print: ((line: string) => void) | undefined;
  readonly #nowMs: () => number;
  readonly #labels = new Map<string, number>();
  #hash = 0x811c9dc5;

  constructor(nowMs: () => number, print?: (line: string) => void) {
    this.#nowMs = nowMs;
    this.#print = print;
  }

  get printing(): boolean {
    return this.#print !== undefined;
  }

  /** `label` comes from a small set; what varies goes in `detail`. */
  note(label: string, subject: string, detail = 0): void {
    this.#mix(Math.round(this.#nowMs() * 1_000) | 0);
    this.#mix(this.#codeOf(label));
    this.#mix(this.#codeOf(subject));
    this.#mix(detail | 0);
    if (this.#print !== undefined)
      this.say(`${label} ${subject}${detail === 0 ? "" : ` #${detail}`}`);
  }

  /** Text only, not hashed: for people. */
  say(text: string): void {
    this.#print?.(`${(this.#nowMs() / 1_000).toFixed(4).padStart(10)}  ${text}`);
  }

  digest(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  #mix(word: number): void {
    let hash = Math.imul(this.#hash ^ word, 0x9e3779b1);
    hash ^= hash >>> 15;
    this.#hash = Math.imul(hash, 0x85ebca77) ^ (hash >>> 13);
  }

  #codeOf(text: string): number {
    const known = this.#labels.get(text);
    if (known !== undefined) return known;
    let code = 0x811c9dc5;
    for (let index = 0; index < text.length; index += 1) {
      code = Math.imul(code ^ text.charCodeAt(index), 0x01000193);
    }
    this.#labels.set(text, code);
    return code;
  }
}
