/**
 * The judge: interprets a description row by row, with nothing of the engine. Rows are arrays of
 * plain values, windows are lists of rows, and everything is computed anew when it is asked for.
 */
import {
  type Agg,
  type Expr,
  lookupRows,
  type Node,
  type PlanCase,
  type Value,
  type Window,
} from "./description.ts";

type Row = readonly Value[];
const never = Number.NEGATIVE_INFINITY;
const ever = Number.POSITIVE_INFINITY;

export function evaluate(expr: Expr, row: Row): Value {
  switch (expr.k) {
    case "col":
      return row[expr.at] ?? null;
    case "lit":
      return expr.value;
    case "isNull":
      return evaluate(expr.a, row) === null;
    case "not": {
      const value = evaluate(expr.a, row);
      return value === null ? null : !value;
    }
    case "case":
      return evaluate(expr.when, row) === true ? evaluate(expr.a, row) : evaluate(expr.b, row);
    case "op":
      return operate(expr.op, evaluate(expr.a, row), evaluate(expr.b, row));
  }
}

function operate(op: string, a: Value, b: Value): Value {
  if (op === "AND")
    return a === false || b === false ? false : a === null || b === null ? null : true;
  if (op === "OR") return a === true || b === true ? true : a === null || b === null ? null : false;
  if (op === "COALESCE") return a ?? b;
  if (op === "<=>") return a === b;
  if (a === null || b === null) return null;
  switch (op) {
    case "+":
      return Number(a) + Number(b);
    case "-":
      return Number(a) - Number(b);
    case "*":
      return Number(a) * Number(b);
    case "=":
      return a === b;
    case "!=":
      return a !== b;
    case "<":
      return a < b;
    case ">":
      return a > b;
    case "<=":
      return a <= b;
    case ">=":
      return a >= b;
    case "LIKE":
      return String(a).startsWith(String(b));
    default:
      throw new Error(`no operator ${op}`);
  }
}

/** Where rows go, and what is known about time. */
abstract class Naive {
  readonly inputs: readonly Naive[];
  emit: (row: Row) => void = () => undefined;
  late = 0;

  constructor(inputs: readonly Naive[]) {
    this.inputs = inputs;
    for (const [side, input] of inputs.entries()) input.emit = (row) => this.take(side, row);
  }

  abstract take(side: number, row: Row): void;

  /** The watermark that the consumers see. */
  watermark(): number {
    return Math.min(...this.inputs.map((input) => input.watermark()));
  }

  /** Inputs first: what they emit arrives before time does. */
  advance(): void {
    for (const input of this.inputs) input.advance();
  }

  find(source: number): readonly NaiveSource[] {
    return this.inputs.flatMap((input) => input.find(source));
  }

  lateRows(): number {
    return this.late + this.inputs.reduce((sum, input) => sum + input.lateRows(), 0);
  }
}

class NaiveSource extends Naive {
  readonly #source: number;
  readonly files: Map<number, number>;

  constructor(source: number, files: readonly number[]) {
    super([]);
    this.#source = source;
    this.files = new Map(files.map((file) => [file, never]));
  }

  override find(source: number): readonly NaiveSource[] {
    return source === this.#source ? [this] : [];
  }

  take(_: number, row: Row): void {
    this.emit(row);
  }

  override watermark(): number {
    return Math.min(...this.files.values());
  }
}

class NaiveMap extends Naive {
  readonly #map: (row: Row) => readonly Row[];

  constructor(inputs: readonly Naive[], map: (row: Row) => readonly Row[]) {
    super(inputs);
    this.#map = map;
  }

  take(_: number, row: Row): void {
    for (const made of this.#map(row)) this.emit(made);
  }
}

interface Bounds {
  readonly start: number;
  readonly end: number;
}

function windowsOf({ kind, sizeMs, advanceMs }: Window, time: number): Bounds[] {
  const advance = kind === "tumbling" ? sizeMs : advanceMs;
  const found: Bounds[] = [];
  for (
    let start = Math.floor(time / advance) * advance;
    start + sizeMs > time && start >= 0;
    start -= advance
  ) {
    found.push({ start, end: start + sizeMs });
  }
  return found;
}

abstract class NaiveWindows extends Naive {
  readonly #window: Window;
  readonly #times: readonly (number | undefined)[];
  readonly #shifts: readonly number[];
  readonly #open = new Map<number, Bounds & { readonly sides: { time: number; row: Row }[][] }>();
  #now = never;

  constructor(
    inputs: readonly Naive[],
    window: Window,
    times: readonly number[],
    shifts: readonly number[],
  ) {
    super(inputs);
    this.#window = window;
    this.#times = times;
    this.#shifts = shifts;
  }

  abstract fire(bounds: Bounds, sides: readonly (readonly { time: number; row: Row }[])[]): void;

  take(side: number, row: Row): void {
    const time = Number(row[this.#times[side] ?? 0]);
    const all = windowsOf(this.#window, time);
    const open = all.filter(({ end }) => end > this.#now);
    if (all.length > 0 && open.length === 0) this.late += 1;
    for (const bounds of open) {
      const found = this.#open.get(bounds.start) ?? { ...bounds, sides: [[], []] };
      this.#open.set(bounds.start, found);
      found.sides[side]?.push({ time, row });
    }
  }

  /** The next row has the end of the next window, so time is known until then. */
  override watermark(): number {
    const now = this.#inputTime();
    if (!Number.isFinite(now)) return now;
    const { kind, sizeMs, advanceMs } = this.#window;
    const advance = kind === "tumbling" ? sizeMs : advanceMs;
    const next = Math.max(0, Math.floor((now - sizeMs) / advance) + 1) * advance + sizeMs;
    return Math.max(now, next - 1);
  }

  #inputTime(): number {
    return Math.min(
      ...this.inputs.map((input, side) => input.watermark() - (this.#shifts[side] ?? 0)),
    );
  }

  override advance(): void {
    super.advance();
    this.#now = this.#inputTime();
    for (const [start, { end, sides }] of this.#open) {
      if (end > this.#now) continue;
      this.#open.delete(start);
      this.fire({ start, end }, sides);
    }
  }
}

function groups(
  rows: readonly { time: number; row: Row }[],
  keys: readonly number[],
): { time: number; row: Row }[][] {
  const found = new Map<string, { time: number; row: Row }[]>();
  for (const each of rows) {
    const text = JSON.stringify(keys.map((at) => each.row[at]));
    found.set(text, [...(found.get(text) ?? []), each]);
  }
  return [...found.values()];
}

export function aggregate(
  { fn, arg, distinct, filter }: Agg,
  rows: readonly { time: number; row: Row }[],
): Value {
  const passed = rows.filter(({ row }) => filter === undefined || evaluate(filter, row) === true);
  if (arg === undefined) return passed.length;
  const filled = passed.filter(({ row }) => row[arg] !== null);
  const byTime = filled.toSorted((a, b) => a.time - b.time);
  if (fn === "FIRST") return byTime[0]?.row[arg] ?? null;
  if (fn === "LAST")
    return byTime.findLast(({ time }) => time === byTime.at(-1)?.time)?.row[arg] ?? null;
  let values = filled.map(({ row }) => Number(row[arg]));
  if (distinct) values = [...new Set(values)];
  if (fn === "COUNT") return values.length;
  if (values.length === 0) return null;
  const sum = values.reduce((a, b) => a + b, 0);
  const mean = sum / values.length;
  const spread = values.reduce((a, b) => a + (b - mean) ** 2, 0);
  const sorted = values.toSorted((a, b) => a - b);
  const half = values.length >> 1;
  const sample = values.length > 1 ? spread / (values.length - 1) : null;
  switch (fn) {
    case "SUM":
      return sum;
    case "MIN":
      return sorted[0] ?? null;
    case "MAX":
      return sorted.at(-1) ?? null;
    case "AVG":
      return mean;
    case "MEDIAN":
      return values.length % 2 === 1
        ? (sorted[half] ?? null)
        : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
    case "VAR":
      return sample;
    case "STDDEV":
      return sample === null ? null : Math.sqrt(sample);
    case "VAR_POP":
      return spread / values.length;
    case "STDDEV_POP":
      return Math.sqrt(spread / values.length);
    default:
      throw new Error(`no aggregate ${fn}`);
  }
}

type AggregateNode = Extract<Node, { readonly op: "aggregate" }>;

function results(
  node: AggregateNode,
  bounds: Bounds,
  rows: readonly { time: number; row: Row }[],
): Row[] {
  return groups(rows, node.keys)
    .filter((group) => !node.having || group.length > 1)
    .map((group) => [
      bounds.start,
      bounds.end,
      ...node.keys.map((at) => group[0]?.row[at] ?? null),
      ...node.aggs.map((agg) => aggregate(agg, group)),
    ]);
}

class NaiveAggregate extends NaiveWindows {
  readonly #node: AggregateNode;

  constructor(input: Naive, node: AggregateNode, time: number, shift: number) {
    super([input], node.window, [time], [shift]);
    this.#node = node;
  }

  fire(bounds: Bounds, [rows = []]: readonly (readonly { time: number; row: Row }[])[]): void {
    for (const row of results(this.#node, bounds, rows)) this.emit(row);
  }
}

class NaiveSessions extends Naive {
  readonly #node: AggregateNode;
  readonly #time: number;
  readonly #shift: number;
  #open: { key: string; rows: { time: number; row: Row }[] }[] = [];
  #now = never;

  constructor(input: Naive, node: AggregateNode, time: number, shift: number) {
    super([input]);
    this.#node = node;
    this.#time = time;
    this.#shift = shift;
  }

  take(_: number, row: Row): void {
    const gap = this.#node.window.sizeMs;
    const time = Number(row[this.#time]);
    const key = JSON.stringify(this.#node.keys.map((at) => row[at]));
    const met = this.#open.filter(
      (each) => each.key === key && each.rows.some((other) => Math.abs(other.time - time) < gap),
    );
    if (met.length === 0 && time + gap <= this.#now) {
      this.late += 1;
      return;
    }
    this.#open = this.#open.filter((each) => !met.includes(each));
    this.#open.push({ key, rows: [...met.flatMap(({ rows }) => rows), { time, row }] });
  }

  override watermark(): number {
    return super.watermark() - this.#shift;
  }

  override advance(): void {
    super.advance();
    this.#now = this.watermark();
    const gap = this.#node.window.sizeMs;
    const isOver = ({ rows }: { rows: readonly { time: number }[] }): boolean =>
      Math.max(...rows.map(({ time }) => time)) + gap <= this.#now;
    const over = this.#open.filter(isOver);
    this.#open = this.#open.filter((each) => !over.includes(each));
    for (const { rows } of over) {
      const times = rows.map(({ time }) => time);
      const bounds = { start: Math.min(...times), end: Math.max(...times) + gap };
      for (const row of results(this.#node, bounds, rows)) this.emit(row);
    }
  }
}

class NaiveJoin extends NaiveWindows {
  readonly #node: Extract<Node, { readonly op: "join" }>;

  constructor(
    inputs: readonly Naive[],
    node: Extract<Node, { readonly op: "join" }>,
    shifts: readonly number[],
  ) {
    super(inputs, node.window, node.times, shifts);
    this.#node = node;
  }

  fire(
    { start, end }: Bounds,
    [lefts = [], rights = []]: readonly (readonly { row: Row }[])[],
  ): void {
    const { kind, of, other, on } = this.#node;
    const joined = new Set<unknown>();
    for (const left of lefts) {
      for (const right of rights) {
        const pair = [...left.row, ...right.row];
        if (evaluate(on, pair) !== true) continue;
        joined.add(left).add(right);
        this.emit([start, end, ...pair]);
      }
    }
    const nulls = (node: Node): Row => node.cols.map(() => null);
    if (kind === "LEFT" || kind === "FULL") {
      for (const left of lefts)
        if (!joined.has(left)) this.emit([start, end, ...left.row, ...nulls(other)]);
    }
    if (kind === "RIGHT" || kind === "FULL") {
      for (const right of rights)
        if (!joined.has(right)) this.emit([start, end, ...nulls(of), ...right.row]);
    }
  }
}

class NaiveInterval extends Naive {
  readonly #node: Extract<Node, { readonly op: "interval" }>;
  readonly #shifts: readonly number[];
  readonly #kept: Row[][] = [[], []];
  #now = never;

  constructor(
    inputs: readonly Naive[],
    node: Extract<Node, { readonly op: "interval" }>,
    shifts: readonly number[],
  ) {
    super(inputs);
    this.#node = node;
    this.#shifts = shifts;
  }

  override watermark(): number {
    return Math.min(
      ...this.inputs.map((input, side) => input.watermark() - (this.#shifts[side] ?? 0)),
    );
  }

  #hasGone(side: number, row: Row): boolean {
    const { times, lowerMs, upperMs } = this.#node;
    return Number(row[times[side] ?? 0]) + (side === 0 ? upperMs : -lowerMs) < this.#now;
  }

  take(side: number, row: Row): void {
    const { times, lowerMs, upperMs, on } = this.#node;
    if (Number(row[times[side] ?? 0]) < this.#now && this.#hasGone(side, row)) {
      this.late += 1;
      return;
    }
    for (const other of this.#kept[1 - side] ?? []) {
      const [left, right] = side === 0 ? [row, other] : [other, row];
      const between = Number(right[times[1]]) - Number(left[times[0]]);
      if (between < lowerMs || between > upperMs || this.#hasGone(1 - side, other)) continue;
      const pair = [...left, ...right];
      if (evaluate(on, pair) === true) this.emit(pair);
    }
    this.#kept[side]?.push(row);
  }

  override advance(): void {
    super.advance();
    this.#now = this.watermark();
  }
}

class NaiveKeyed extends Naive {
  readonly #node: Extract<Node, { readonly op: "keyed" }>;
  readonly #states = new Map<string, { seen: number; values: Value[] }>();
  #now = never;

  constructor(input: Naive, node: Extract<Node, { readonly op: "keyed" }>) {
    super([input]);
    this.#node = node;
  }

  take(_: number, row: Row): void {
    const { fn, key, time: timeAt, arg, offset, ttlMs } = this.#node;
    const time = Number(row[timeAt]);
    const text = JSON.stringify(row[key]);
    const known = this.#states.get(text);
    const isKept =
      known !== undefined &&
      (ttlMs === undefined || Math.max(time, this.#now) - known.seen <= ttlMs);
    const state = isKept ? known : { seen: time, values: [] };
    this.#states.set(text, state);
    state.seen = Math.max(state.seen, time);
    const value = row[arg] ?? null;
    if (fn === "dedupe") {
      if (!isKept) this.emit(row);
    } else if (fn === "LAG") {
      this.emit([...row, state.values.at(-offset) ?? null]);
      state.values.push(value);
    } else {
      if (value !== null) state.values.push(value);
      this.emit([...row, state.values.at(-1) ?? null]);
    }
  }

  override advance(): void {
    super.advance();
    this.#now = this.watermark();
  }
}

class NaiveTop extends Naive {
  readonly #node: Extract<Node, { readonly op: "top" }>;
  #kept: { bounds: Bounds; row: Row }[] = [];
  #now = never;

  constructor(input: Naive, node: Extract<Node, { readonly op: "top" }>) {
    super([input]);
    this.#node = node;
  }

  take(_: number, row: Row): void {
    const { time, sizeMs } = this.#node;
    const at = time === undefined ? 0 : Number(row[time]);
    const start = Math.floor(at / sizeMs) * sizeMs;
    const bounds =
      time === undefined
        ? { start: Number(row[0]), end: Number(row[1]) }
        : { start, end: start + sizeMs };
    if (bounds.end <= this.#now) this.late += 1;
    else this.#kept.push({ bounds, row });
  }

  override advance(): void {
    super.advance();
    this.#now = this.watermark();
    const over = this.#kept.filter(({ bounds }) => bounds.end <= this.#now);
    this.#kept = this.#kept.filter((each) => !over.includes(each));
    const { key, order, limit } = this.#node;
    const parts = Map.groupBy(over, ({ bounds, row }) =>
      JSON.stringify([bounds, key === undefined ? null : row[key]]),
    );
    for (const rows of parts.values()) {
      const sorted = rows.toSorted((a, b) => compareRows(a.row, b.row, order));
      for (const { row } of sorted.slice(0, limit)) this.emit(row);
    }
  }
}

function compareRows(
  a: Row,
  b: Row,
  order: readonly { readonly at: number; readonly descending: boolean }[],
): number {
  for (const { at, descending } of order) {
    const [x, y] = [a[at] ?? null, b[at] ?? null];
    if (x === y) continue;
    if (x === null) return 1;
    if (y === null) return -1;
    return x < y === descending ? 1 : -1;
  }
  return 0;
}

function build(node: Node, files: PlanCase["files"]): Naive {
  const below = (inner: Node): Naive => build(inner, files);
  const shiftOf = (inner: Node, at: number): number => inner.cols[at]?.shiftMs ?? 0;
  switch (node.op) {
    case "source": {
      const own = files.flatMap(({ source }, file) => (source === node.source ? [file] : []));
      return new NaiveSource(node.source, own);
    }
    case "filter":
      return new NaiveMap([below(node.of)], (row) =>
        evaluate(node.where, row) === true ? [row] : [],
      );
    case "project":
      return new NaiveMap([below(node.of)], (row) => [
        [...node.exprs.map((expr) => evaluate(expr, row)), ...row.slice(node.of.cols.length)],
      ]);
    case "union":
      return new NaiveMap([below(node.of), below(node.other)], (row) => [row]);
    case "aggregate": {
      // The time of reading stands behind the columns of every row.
      const time = node.time ?? node.of.cols.length;
      const shift = node.time === undefined ? 0 : shiftOf(node.of, node.time);
      return node.window.kind === "session"
        ? new NaiveSessions(below(node.of), node, time, shift)
        : new NaiveAggregate(below(node.of), node, time, shift);
    }
    case "join":
      return new NaiveJoin(
        [below(node.of), below(node.other)].map(stripped([node.of, node.other])),
        node,
        [shiftOf(node.of, node.times[0]), shiftOf(node.other, node.times[1])],
      );
    case "interval":
      return new NaiveInterval(
        [below(node.of), below(node.other)].map(stripped([node.of, node.other])),
        node,
        [shiftOf(node.of, node.times[0]), shiftOf(node.other, node.times[1])],
      );
    case "keyed":
      return new NaiveKeyed(stripped([node.of])(below(node.of), 0), node);
    case "top":
      return new NaiveTop(below(node.of), node);
    case "lookup":
      return new NaiveMap([stripped([node.of])(below(node.of), 0)], (row) => {
        const found = lookupRows.filter(([id]) => row[node.key] !== null && id === row[node.key]);
        if (found.length === 0) return node.left ? [[...row, null, null]] : [];
        return found.map((other) => [...row, ...other]);
      });
  }
}

/** Without the time of reading, which is behind the columns. */
function stripped(nodes: readonly Node[]): (input: Naive, side: number) => Naive {
  return (input, side) => new NaiveMap([input], (row) => [row.slice(0, nodes[side]?.cols.length)]);
}

export class NaivePlan {
  readonly rows: Row[] = [];
  readonly #root: Naive;
  readonly #plan: PlanCase;
  readonly #greatest = new Map<number, number>();
  readonly #byReading: boolean;

  constructor(plan: PlanCase) {
    this.#plan = plan;
    this.#root = build(plan.query, plan.files);
    this.#root.emit = (row) => this.rows.push(row.slice(0, plan.query.cols.length));
    this.#byReading = usesReading(plan.query);
  }

  get late(): number {
    return this.#root.lateRows();
  }

  /** The rows that a read buffer completed, and the time at which it was read. */
  buffer(file: number, rows: readonly Row[], now: number): void {
    const { files, boundMs } = this.#plan;
    for (const source of this.#root.find(files[file]?.source ?? 0)) {
      for (const row of rows) source.take(0, [...row, now]);
    }
    for (const [time] of rows) {
      const at = this.#byReading ? now : Number(time) - boundMs;
      this.#greatest.set(file, Math.max(this.#greatest.get(file) ?? never, at));
    }
    this.#tell(file, this.#greatest.get(file) ?? never);
  }

  end(file: number): void {
    this.#tell(file, ever);
  }

  #tell(file: number, watermark: number): void {
    for (const source of this.#root.find(this.#plan.files[file]?.source ?? 0))
      source.files.set(file, watermark);
    this.#root.advance();
  }
}

function usesReading(node: Node): boolean {
  if (node.op === "source") return false;
  if (node.op === "aggregate" && node.time === undefined) return true;
  return usesReading(node.of) || ("other" in node && usesReading(node.other));
}
