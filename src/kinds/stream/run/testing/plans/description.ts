/**
 * Random continuous queries as descriptions: the printer makes SQL of one, the naive evaluator
 * interprets it. Everything is drawn from a tape of numbers; 0 is always the simplest choice, so
 * that fast-check shrinks a case by shortening its tape.
 */
export type Kind = "int" | "float" | "text" | "time";
export type Value = number | string | boolean | null;

export interface Col {
  readonly name: string;
  readonly kind: Kind;
  /** Of a time: how far it may lie behind the watermark's promise for the node's rows. */
  readonly shiftMs?: number;
  /** A count or what is made of one: unsigned, so that nothing is subtracted from it. */
  readonly unsigned?: boolean;
}

export type Expr =
  | { readonly k: "col"; readonly at: number }
  | { readonly k: "lit"; readonly value: number | string }
  | { readonly k: "op"; readonly op: string; readonly a: Expr; readonly b: Expr }
  | { readonly k: "isNull" | "not"; readonly a: Expr }
  | { readonly k: "case"; readonly when: Expr; readonly a: Expr; readonly b: Expr };

export interface Agg {
  readonly fn: string;
  readonly arg: number | undefined;
  readonly distinct: boolean;
  readonly filter: Expr | undefined;
}

export interface Window {
  readonly kind: "tumbling" | "sliding" | "session";
  readonly sizeMs: number;
  readonly advanceMs: number;
}

export type Node =
  | { readonly op: "source"; readonly source: number; readonly cols: readonly Col[] }
  | {
      readonly op: "filter";
      readonly of: Node;
      readonly where: Expr;
      readonly cols: readonly Col[];
    }
  | {
      readonly op: "project";
      readonly of: Node;
      readonly exprs: readonly Expr[];
      readonly cols: readonly Col[];
    }
  | { readonly op: "union"; readonly of: Node; readonly other: Node; readonly cols: readonly Col[] }
  | {
      readonly op: "aggregate";
      readonly of: Node;
      /** `undefined`: the time of reading. */
      readonly time: number | undefined;
      readonly window: Window;
      readonly keys: readonly number[];
      readonly aggs: readonly Agg[];
      readonly having: boolean;
      readonly cols: readonly Col[];
    }
  | {
      readonly op: "join";
      readonly kind: "" | "LEFT" | "RIGHT" | "FULL";
      readonly of: Node;
      readonly other: Node;
      readonly times: readonly [number, number];
      readonly window: Window;
      readonly on: Expr;
      readonly cols: readonly Col[];
    }
  | {
      readonly op: "interval";
      readonly of: Node;
      readonly other: Node;
      readonly times: readonly [number, number];
      readonly lowerMs: number;
      readonly upperMs: number;
      readonly on: Expr;
      readonly cols: readonly Col[];
    }
  | {
      readonly op: "keyed";
      readonly of: Node;
      readonly fn: "LAG" | "LAST_VALUE" | "dedupe";
      readonly key: number;
      readonly time: number;
      readonly arg: number;
      readonly offset: number;
      readonly ttlMs: number | undefined;
      readonly cols: readonly Col[];
    }
  | {
      readonly op: "top";
      readonly of: Node;
      readonly time: number | undefined;
      readonly sizeMs: number;
      readonly key: number | undefined;
      readonly order: readonly { readonly at: number; readonly descending: boolean }[];
      readonly limit: number;
      readonly cols: readonly Col[];
    }
  | {
      readonly op: "lookup";
      readonly of: Node;
      readonly left: boolean;
      readonly key: number;
      readonly cols: readonly Col[];
    };

export interface FileData {
  readonly source: number;
  readonly rows: readonly (readonly Value[])[];
}

export interface PlanCase {
  readonly query: Node;
  readonly wrapper: "sub" | "with" | "view";
  readonly files: readonly FileData[];
  readonly json: boolean;
  readonly jsonOut: boolean;
  readonly boundMs: number;
  readonly isWithin: boolean;
  /** Bytes of each read buffer, and which file it belongs to. */
  readonly buffers: readonly { readonly file: number; readonly bytes: number }[];
  /** Behind which buffer the state is saved and everything starts again. */
  readonly restartAt: number | undefined;
  readonly places: number;
  readonly counts: readonly string[];
}

/** What is looked up in. */
export const lookupRows: readonly (readonly Value[])[] = [
  [0, "north"],
  [1, "south"],
  [1, "west"],
  [3, null],
];

export class Tape {
  readonly #numbers: readonly number[];
  #at = 0;

  constructor(numbers: readonly number[]) {
    this.#numbers = numbers;
  }

  below(bound: number): number {
    const number = this.#numbers[this.#at] ?? 0;
    this.#at += 1;
    return number % bound;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }

  /** True once in `n`; false where the tape has ended. */
  rarely(n: number): boolean {
    return this.below(n) === n - 1;
  }
}

const sourceCols = (source: number): readonly Col[] => {
  const tail = source === 0 ? "" : "2";
  return [
    { name: `ts${tail}`, kind: "time", shiftMs: 0 },
    { name: `k${tail}`, kind: "int" },
    { name: `v${tail}`, kind: "int" },
    { name: `f${tail}`, kind: "float" },
    { name: `t${tail}`, kind: "text" },
  ];
};
const texts = ["a", "b", "ab", "xyz"];
const disorderMs = 40;

/** Whether an aggregate of integers gives integers, which may be keys. */
function isWhole(fn: string, arg: Col | undefined): boolean {
  return fn.startsWith("COUNT") || (arg?.kind === "int" && ["SUM", "MIN", "MAX"].includes(fn));
}

function hasUnsigned({ cols }: Node): boolean {
  return cols.some(({ unsigned }) => unsigned === true);
}

export class Drawing {
  readonly #tape: Tape;
  readonly #counts: string[] = [];
  #names = 0;

  constructor(tape: Tape) {
    this.#tape = tape;
  }

  #count(what: string): void {
    this.#counts.push(what);
  }

  #name(): string {
    this.#names += 1;
    return `c${this.#names}`;
  }

  draw(): PlanCase {
    const tape = this.#tape;
    const query = this.#query();
    const isWithin = !tape.rarely(3);
    const boundMs = isWithin ? disorderMs : tape.pick([0, 10]);
    // Some rows are late for one window of theirs and not for the next.
    const spreadMs = isWithin ? disorderMs : tape.pick([disorderMs, 4 * disorderMs]);
    const files = this.#files(spreadMs);
    const buffers = this.#buffers(files);
    const restartAt = tape.rarely(2) ? tape.below(buffers.length) : undefined;
    const places = tape.pick([1, 1, 2, 3]);
    const json = tape.rarely(3);
    const jsonOut = tape.rarely(2);
    const wrapper = tape.pick(["sub", "with", "view"] as const);
    this.#count(isWithin ? "within the bound" : "beyond the bound");
    if (restartAt !== undefined) this.#count(places > 1 ? "restart, parted" : "restart");
    this.#count(places > 1 ? "several fragments" : "one fragment");
    this.#count(json ? "JSON in" : "CSV in");
    this.#count(jsonOut ? "JSON out" : "CSV out");
    this.#count(wrapper);
    return {
      ...{ query, wrapper, files, json, jsonOut, boundMs, isWithin, buffers, restartAt, places },
      counts: this.#counts,
    };
  }

  #query(): Node {
    const tape = this.#tape;
    const first = this.#base();
    const node = this.#operation(first);
    const times = node.cols.flatMap(({ kind, shiftMs }, at) =>
      kind === "time" && shiftMs !== undefined ? [at] : [],
    );
    switch (tape.below(6)) {
      case 1:
        return this.#filter(node);
      case 2:
        return this.#project(node);
      case 3:
        if (times.length > 0 && node.op !== "source") {
          this.#count("stacked window");
          return this.#aggregate(node, true);
        }
        return node;
      case 4:
        if (node.op === "aggregate" && node.window.kind !== "session") return this.#topOf(node);
        return node;
      default:
        return node;
    }
  }

  #base(): Node {
    const tape = this.#tape;
    let node: Node = { op: "source", source: 0, cols: sourceCols(0) };
    if (tape.rarely(4)) {
      this.#count("union");
      const other: Node = { op: "source", source: 1, cols: sourceCols(1) };
      node = { op: "union", of: node, other, cols: node.cols };
    }
    if (tape.rarely(3)) node = this.#filter(node);
    if (tape.rarely(4)) node = this.#project(node);
    return node;
  }

  #operation(of: Node): Node {
    switch (this.#tape.below(12)) {
      case 1:
      case 2:
      case 3:
      case 4:
        return this.#aggregate(of, false);
      case 5:
      case 6:
        return this.#join(of);
      case 7:
        return this.#interval(of);
      case 8:
      case 9:
        return this.#keyed(of);
      case 10:
        return this.#rowTop(of);
      case 11:
        return this.#lookup(of);
      default:
        return of;
    }
  }

  #of(node: Node, ...kinds: readonly Kind[]): number | undefined {
    const found = node.cols.flatMap(({ kind }, at) => (kinds.includes(kind) ? [at] : []));
    return found.length === 0 ? undefined : this.#tape.pick(found);
  }

  #timeOf(node: Node): number | undefined {
    const found = node.cols.flatMap(({ kind, shiftMs }, at) =>
      kind === "time" && shiftMs !== undefined ? [at] : [],
    );
    return found.length === 0 ? undefined : this.#tape.pick(found);
  }

  #number(node: Node): Expr {
    const at = this.#of(node, "int", "float");
    const col: Expr = at === undefined ? { k: "lit", value: 1 } : { k: "col", at };
    switch (this.#tape.below(5)) {
      case 1:
        return {
          k: "op",
          op: this.#tape.pick(hasUnsigned(node) ? ["+", "*"] : ["+", "-", "*"]),
          a: col,
          b: { k: "lit", value: 1 + this.#tape.below(5) },
        };
      case 2:
        return { k: "case", when: this.#condition(node, 0), a: col, b: { k: "lit", value: 7 } };
      case 3:
        return { k: "op", op: "COALESCE", a: col, b: { k: "lit", value: 3 } };
      default:
        return col;
    }
  }

  #condition(node: Node, depth: number): Expr {
    const tape = this.#tape;
    const text = this.#of(node, "text");
    switch (tape.below(depth > 0 ? 7 : 4)) {
      case 1:
        return { k: "isNull", a: this.#number(node) };
      case 2:
        if (text !== undefined) {
          return {
            k: "op",
            op: tape.pick(["=", "<", "LIKE"]),
            a: { k: "col", at: text },
            b: { k: "lit", value: tape.pick(["a", "b"]) },
          };
        }
        break;
      case 4:
      case 5:
        return {
          k: "op",
          op: tape.pick(["AND", "OR"]),
          a: this.#condition(node, depth - 1),
          b: this.#condition(node, depth - 1),
        };
      case 6:
        return { k: "not", a: this.#condition(node, depth - 1) };
      default:
    }
    return {
      k: "op",
      op: tape.pick([">", "<=", "=", "!="]),
      a: this.#number(node),
      b: { k: "lit", value: tape.below(6) },
    };
  }

  #filter(of: Node): Node {
    this.#count("filter");
    return { op: "filter", of, where: this.#condition(of, 2), cols: of.cols };
  }

  /** Keeps all columns, under new names, and adds some. */
  #project(of: Node): Node {
    this.#count("project");
    const kept = of.cols.map((_, at): Expr => ({ k: "col", at }));
    const added = Array.from({ length: 1 + this.#tape.below(2) }, () => this.#number(of));
    const cols = [
      ...of.cols.map((col) => ({ ...col, name: this.#name() })),
      ...added.map((): Col => ({ name: this.#name(), kind: "float", unsigned: hasUnsigned(of) })),
    ];
    return { op: "project", of, exprs: [...kept, ...added], cols };
  }

  #window(isJoin: boolean): Window {
    const tape = this.#tape;
    const sizeMs = tape.pick([100, 30, 1_000, 7]);
    const kind = tape.pick(
      isJoin ? (["tumbling", "sliding"] as const) : (["tumbling", "sliding", "session"] as const),
    );
    const advanceMs = kind === "sliding" ? tape.pick([50, 30, 7, 130]) : sizeMs;
    this.#count(kind === "sliding" && advanceMs > sizeMs ? "sliding with gaps" : kind);
    return { kind, sizeMs: kind === "session" ? tape.pick([20, 60, 5]) : sizeMs, advanceMs };
  }

  #aggregate(of: Node, isStacked: boolean, mayRead = !isStacked): Node {
    const tape = this.#tape;
    const isPlain =
      of.op === "source" || of.op === "filter" || of.op === "project" || of.op === "union";
    const usesReading = mayRead && isPlain && tape.rarely(8);
    const time = usesReading ? undefined : this.#timeOf(of);
    const window = this.#window(false);
    if (time === undefined) this.#count("ingestion time");
    else this.#count("event time");
    const key = tape.rarely(3) ? undefined : this.#of(of, "int", "text");
    const keys = key === undefined ? [] : [key];
    const fns = [
      "COUNT(*)",
      "SUM",
      "MIN",
      "MAX",
      "AVG",
      "COUNT",
      "MEDIAN",
      "STDDEV",
      "VAR",
      "STDDEV_POP",
      "VAR_POP",
      "FIRST",
      "LAST",
    ];
    const usable = isStacked || time === undefined ? fns.slice(0, -2) : fns;
    const aggs = Array.from({ length: 1 + tape.below(3) }, (): Agg => {
      const fn = tape.pick(usable);
      const arg = fn === "COUNT(*)" ? undefined : this.#of(of, "int", "float");
      const real = arg === undefined ? "COUNT(*)" : fn;
      const distinct = arg !== undefined && ["COUNT", "SUM"].includes(fn) && tape.rarely(3);
      const filter = tape.rarely(4) ? this.#condition(of, 1) : undefined;
      this.#count(distinct ? `${real}(DISTINCT)` : real);
      if (filter !== undefined) this.#count("FILTER");
      return { fn: real, arg, distinct, filter };
    });
    const having = tape.rarely(4);
    if (having) this.#count("HAVING");
    const isFixed = window.kind !== "session";
    const cols: Col[] = [
      { name: this.#name(), kind: "time", ...(isFixed ? { shiftMs: window.sizeMs } : {}) },
      { name: this.#name(), kind: "time", shiftMs: 0 },
      ...keys.map((at) => ({ name: this.#name(), kind: (of.cols[at] as Col).kind })),
      ...aggs.map(
        ({ fn, arg }): Col => ({
          ...{ name: this.#name(), kind: isWhole(fn, of.cols[arg ?? -1]) ? "int" : "float" },
          unsigned: fn.startsWith("COUNT") || hasUnsigned(of),
        }),
      ),
    ];
    return { op: "aggregate", of, time, window, keys, aggs, having, cols };
  }

  #other(): Node {
    const other: Node = { op: "source", source: 1, cols: sourceCols(1) };
    return this.#tape.rarely(4) ? this.#filter(other) : other;
  }

  #on(of: Node, other: Node): Expr {
    const tape = this.#tape;
    const width = of.cols.length;
    const [a, b] = [this.#of(of, "int"), this.#of(other, "int")];
    const equal: Expr = {
      k: "op",
      op: tape.pick(["=", "=", "<=>"]),
      a: { k: "col", at: a ?? 0 },
      b: { k: "col", at: width + (b ?? 0) },
    };
    const [c, d] = [this.#of(of, "int", "float"), this.#of(other, "int", "float")];
    const less: Expr = {
      k: "op",
      // A negative number and a count would be compared as unsigned ones.
      op: tape.pick(hasUnsigned(of) || hasUnsigned(other) ? ["!="] : ["<", ">=", "!="]),
      a: { k: "col", at: c ?? 0 },
      b: { k: "col", at: width + (d ?? 0) },
    };
    switch (tape.below(4)) {
      case 1:
        this.#count("join by any predicate");
        return less;
      case 2:
        return { k: "op", op: "AND", a: equal, b: less };
      default:
        return equal;
    }
  }

  /** A side of a join; `windowed` makes it rows of a window with keys or without. */
  #side(plain: Node, windowed: () => Node): Node {
    if (!this.#tape.rarely(3)) return plain;
    const made = windowed();
    this.#count(
      made.op === "aggregate" && made.keys.length === 0
        ? "join with a window without keys"
        : "join with a window with keys",
    );
    return made;
  }

  #join(base: Node): Node {
    const of = this.#side(base, () => this.#aggregate(base, false, false));
    const plain = this.#other();
    const other = this.#side(plain, () => {
      // A window over the other side's windows has its rows from the fragments of that side.
      if (of.op === "aggregate" && !this.#tape.rarely(3)) return this.#aggregate(of, true);
      return this.#aggregate(this.#tape.pick([plain, base]), false, false);
    });
    const kind = this.#tape.pick(["", "LEFT", "RIGHT", "FULL"] as const);
    const window = this.#window(true);
    const times = [this.#timeOf(of) ?? 0, this.#timeOf(other) ?? 0] as const;
    const on = this.#on(of, other);
    this.#count(`${kind === "" ? "INNER" : kind} join`);
    const cols: Col[] = [
      { name: this.#name(), kind: "time", shiftMs: window.sizeMs },
      { name: this.#name(), kind: "time", shiftMs: 0 },
      ...[...of.cols, ...other.cols].map(
        ({ kind: type, unsigned = false }): Col => ({ name: this.#name(), kind: type, unsigned }),
      ),
    ];
    return { op: "join", kind, of, other, times, window, on, cols };
  }

  #interval(of: Node): Node {
    const other = this.#other();
    const [lowerMs, upperMs] = this.#tape.pick([
      [-20, 20],
      [0, 50],
      [-30, -5],
      [10, 40],
    ] as const);
    const times = [this.#timeOf(of) ?? 0, 0] as const;
    const on = this.#on(of, other);
    this.#count("interval join");
    const cols = [...of.cols, ...other.cols].map(({ kind }): Col => ({ name: this.#name(), kind }));
    return { op: "interval", of, other, times, lowerMs, upperMs, on, cols };
  }

  #keyed(of: Node): Node {
    const tape = this.#tape;
    const fn = tape.pick(["LAG", "LAST_VALUE", "dedupe"] as const);
    const key = this.#of(of, "int", "text") ?? 0;
    const arg = this.#of(of, "int", "float", "text") ?? 0;
    const ttlMs = tape.pick([undefined, 20, 100, 5]);
    this.#count(fn);
    if (ttlMs !== undefined) this.#count("STATE TTL");
    const added: Col[] =
      fn === "dedupe" ? [] : [{ name: this.#name(), kind: (of.cols[arg] as Col).kind }];
    const cols = [...of.cols.map((col) => ({ ...col, name: this.#name() })), ...added];
    return {
      op: "keyed",
      of,
      fn,
      key,
      time: this.#timeOf(of) ?? 0,
      arg,
      offset: 1 + tape.below(3),
      ttlMs,
      cols,
    };
  }

  /** All columns are part of the order, so that rows that are equal in it are equal. */
  #order(of: Node): { readonly at: number; readonly descending: boolean }[] {
    const all = of.cols.map((_, at) => at);
    const first = this.#tape.pick(all);
    return [first, ...all.filter((at) => at !== first)].map((at) => ({
      at,
      descending: this.#tape.rarely(2),
    }));
  }

  #rowTop(of: Node): Node {
    this.#count("top-N of rows");
    const sizeMs = this.#tape.pick([100, 30]);
    const key = this.#tape.rarely(2) ? this.#of(of, "int", "text") : undefined;
    const cols = of.cols.map(({ kind }): Col => ({ name: this.#name(), kind }));
    return {
      op: "top",
      of,
      time: this.#timeOf(of) ?? 0,
      sizeMs,
      key,
      order: this.#order(of),
      limit: 1 + this.#tape.below(3),
      cols,
    };
  }

  #topOf(of: Node): Node {
    this.#count("top-N of a window");
    const cols = of.cols.map((col) => ({ ...col, name: this.#name() }));
    return {
      op: "top",
      of,
      time: undefined,
      sizeMs: 0,
      key: undefined,
      order: this.#order(of),
      limit: 1 + this.#tape.below(3),
      cols,
    };
  }

  #lookup(of: Node): Node {
    const left = this.#tape.rarely(2);
    this.#count(left ? "LEFT lookup join" : "lookup join");
    const cols = [
      ...of.cols.map((col) => ({ ...col, name: this.#name() })),
      { name: this.#name(), kind: "int" } as Col,
      { name: this.#name(), kind: "text" } as Col,
    ];
    return { op: "lookup", of, left, key: this.#of(of, "int") ?? 1, cols };
  }

  #files(spreadMs: number): readonly FileData[] {
    const tape = this.#tape;
    const sources = tape.rarely(2) ? [0, 1, 0] : [0, 1];
    if (sources.length > 2) this.#count("several files of a source");
    // On a grid, watermarks meet the ends of windows, and rows the ends of intervals.
    const gridMs = tape.pick([1, 1, 10, 5]);
    if (gridMs > 1) this.#count("times on a grid");
    return sources.map((source) => {
      let now = 60 + spreadMs;
      const rows = Array.from({ length: tape.below(26) }, () => {
        now += Math.floor(tape.below(30) / gridMs) * gridMs + (tape.rarely(20) ? 5_000 : 0);
        const nullable = <T extends Value>(value: T): Value => (tape.rarely(6) ? null : value);
        return [
          now - Math.floor(tape.below(spreadMs + 1) / gridMs) * gridMs,
          nullable(tape.below(4)),
          nullable(tape.below(9) - 3),
          nullable(tape.below(9) / 4),
          nullable(tape.pick(texts)),
        ];
      });
      return { source, rows };
    });
  }

  /** A random merge of the files' buffers: enough of them for every byte. */
  #buffers(files: readonly FileData[]): PlanCase["buffers"] {
    const tape = this.#tape;
    // Small ones have rows come between the end of a window and that of the next.
    const isSmall = tape.rarely(3);
    if (isSmall) this.#count("small buffers");
    const left = files.map(({ rows }) => rows.length * 60 + 1);
    const found: { file: number; bytes: number }[] = [];
    while (left.some((bytes) => bytes > 0)) {
      const open = left.flatMap((bytes, file) => (bytes > 0 ? [file] : []));
      const file = tape.pick(open);
      const bytes = isSmall ? 16 + tape.below(40) : 64 + tape.below(300);
      found.push({ file, bytes });
      left[file] = (left[file] ?? 0) - bytes;
    }
    return found;
  }
}
