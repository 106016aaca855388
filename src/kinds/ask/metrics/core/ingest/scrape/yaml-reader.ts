/** Reads a YAML document strictly: an unknown key is an error that names it and its line. */
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { OperatingError } from "../../../../../../ground/kernel/errors.ts";

/** A place in the document. */
export class YamlValue {
  readonly #node: Node | null;
  readonly #lines: LineCounter;
  readonly #fallbackLine: number;
  /** The path for messages, such as `scrape_configs[0].params`. */
  readonly path: string;

  constructor(node: Node | null, lines: LineCounter, path: string, fallbackLine: number) {
    this.#node = node;
    this.#lines = lines;
    this.path = path;
    this.#fallbackLine = fallbackLine;
  }

  get line(): number {
    const start = this.#node?.range?.[0];
    return start === undefined ? this.#fallbackLine : this.#lines.linePos(start).line;
  }

  /** Whether the value is absent, `null` or empty. */
  get isNull(): boolean {
    return this.#node === null || (isScalar(this.#node) && this.#node.value === null);
  }

  fail(problem: string): OperatingError {
    const place = this.path === "" ? "" : `${this.path}: `;
    return new OperatingError("bad_request", "never", `line ${this.line}: ${place}${problem}`);
  }

  /** Throws for a key that is not among `known`. */
  map(known: readonly string[]): YamlMap {
    return new YamlMap(this, this.#entries(), known);
  }

  /** Accepts any keys. */
  record(): Map<string, YamlValue> {
    return this.#entries();
  }

  items(): YamlValue[] {
    if (this.isNull) return [];
    if (!isSeq(this.#node)) throw this.fail("it must be a list");
    return this.#node.items.map((item, index) => this.#child(item as Node | null, `[${index}]`));
  }

  text(): string {
    const value = isScalar(this.#node) ? this.#node.value : undefined;
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return this.#source(value);
    throw this.fail("it must be a text");
  }

  boolean(): boolean {
    const value = isScalar(this.#node) ? this.#node.value : undefined;
    if (typeof value !== "boolean") throw this.fail("it must be true or false");
    return value;
  }

  wholeNumber(): number {
    const value = isScalar(this.#node) ? this.#node.value : undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    throw this.fail("it must be a whole number, at least 0");
  }

  /** The source text of a number or boolean: `01` is not `1`. */
  #source(value: number | boolean): string {
    const source = isScalar(this.#node) ? this.#node.source : undefined;
    return source ?? String(value);
  }

  #entries(): Map<string, YamlValue> {
    const entries = new Map<string, YamlValue>();
    if (this.isNull) return entries;
    if (!isMap(this.#node)) throw this.fail("it must be a mapping");
    for (const { key, value } of this.#node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      const keyPath = this.path === "" ? name : `.${name}`;
      const line = this.#child(key as Node | null, "").line;
      const child = value as Node | null;
      entries.set(name, new YamlValue(child, this.#lines, `${this.path}${keyPath}`, line));
    }
    return entries;
  }

  #child(node: Node | null, suffix: string): YamlValue {
    return new YamlValue(node, this.#lines, `${this.path}${suffix}`, this.line);
  }
}

export class YamlMap {
  readonly value: YamlValue;
  readonly #entries: ReadonlyMap<string, YamlValue>;

  constructor(value: YamlValue, entries: ReadonlyMap<string, YamlValue>, known: readonly string[]) {
    this.value = value;
    this.#entries = entries;
    for (const [name, entry] of entries) {
      if (!known.includes(name)) throw entry.fail(`there is no field ${JSON.stringify(name)}`);
    }
  }

  /** Undefined when the key is absent or has no value. */
  get(name: string): YamlValue | undefined {
    const entry = this.#entries.get(name);
    return entry === undefined || entry.isNull ? undefined : entry;
  }

  text(name: string): string | undefined {
    return this.get(name)?.text();
  }

  boolean(name: string): boolean | undefined {
    return this.get(name)?.boolean();
  }

  wholeNumber(name: string): number | undefined {
    return this.get(name)?.wholeNumber();
  }

  items(name: string): YamlValue[] {
    return this.get(name)?.items() ?? [];
  }
}

/** Throws `bad_request` with the line. Aliases are refused, because they expand exponentially. */
export function readYaml(text: string): YamlValue {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, keepSourceTokens: true });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0]);
    const [problem = "it cannot be read"] = error.message.split("\n");
    throw new OperatingError("bad_request", "never", `line ${line}: ${problem}`, { cause: error });
  }
  const root = new YamlValue(document.contents as Node | null, lines, "", 1);
  refuseAliases(document.contents as Node | null, lines);
  return root;
}

function refuseAliases(node: unknown, lines: LineCounter): void {
  if (isAlias(node)) {
    throw new YamlValue(node, lines, "", 1).fail("aliases are not supported");
  }
  if (isSeq(node)) for (const item of node.items) refuseAliases(item, lines);
  if (isMap(node)) for (const { value } of node.items) refuseAliases(value, lines);
}
