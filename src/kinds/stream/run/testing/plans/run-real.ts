/**
 * Runs the SQL of a case by the real language, formats, operators and exchanges, one read buffer at
 * a time: in one fragment, or cut at its exchanges, with frames between the fragments.
 */
import {
  type Batch,
  createOperator,
  createRecordParser,
  createRecordWriter,
  createSender,
  decodeFrame,
  Fragment,
  type LookupTable,
  QueryMemory,
  type RecordParser,
  type SavedNodeState,
  withIngestionTime,
} from "../../../engine/core/index.ts";
import { toBatch } from "../../../engine/testing/rows.ts";
import {
  defaultDialect,
  LocalCatalog,
  type Plan,
  type PlanNode,
  parseStatements,
  planQuery,
  type Schema,
  type SourceOp,
} from "../../../language/core/index.ts";
import { cutFragments, type PlanFragment, wholeFragment } from "../../core/plan-fragments.ts";
import { lookupRows } from "./description.ts";

const customers = {
  name: "customers",
  schema: [
    { name: "id", type: { name: "INT32", nullable: false } },
    { name: "city", type: { name: "VARSIZED", nullable: true } },
  ],
} as const;

export function planOf(sql: string): Plan {
  const catalog = new LocalCatalog(defaultDialect, [customers]);
  for (const statement of parseStatements(sql)) {
    if (catalog.apply(statement)) continue;
    if (statement.kind === "query") return planQuery(statement.query, catalog, defaultDialect);
  }
  throw new Error("there is no query");
}

function tableOf(columns: Schema): LookupTable {
  const places = columns.map(({ name }) => (name.toUpperCase() === "ID" ? 0 : 1));
  const rows = lookupRows.map((row) =>
    places.map((at) => {
      const value = row[at] ?? null;
      return typeof value === "number" ? BigInt(value) : (value as string | null);
    }),
  );
  const batch = toBatch(columns, rows);
  return { version: { rowCount: batch.rowCount, columns: batch.columns } };
}

interface Running {
  readonly placed: PlanFragment;
  readonly fragment: Fragment;
}

interface Frame {
  readonly to: Running;
  readonly node: PlanNode;
  readonly side: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** One input file. */
interface Reader {
  readonly op: SourceOp;
  readonly node: number;
  parser: RecordParser;
  /** Bytes given so far of the file. */
  at: number;
}

export class RealPlan {
  output = "";
  readonly #plan: Plan;
  readonly #fragments: readonly PlanFragment[];
  readonly #contents: readonly Uint8Array[];
  #running: Running[] = [];
  #frames: Frame[] = [];
  readonly #readers: Reader[] = [];
  #now = 0;
  #lateBefore = 0;

  /**
   * `contents` are the files, which the plan's sources name by their numbers. Rows beyond the bound
   * are late by their sender's time alone where senders aggregate (SX58), and by the time of all of
   * them elsewhere; the naive evaluator knows the latter, so such plans stay whole.
   */
  constructor(sql: string, contents: readonly Uint8Array[], places: number, isWithin: boolean) {
    const plan = planOf(sql);
    const parted = places > 1 ? cutFragments(plan, places) : undefined;
    const isSplit = parted?.plan.nodes.some(({ op }) => op.kind === "partialAggregate") === true;
    const placed = parted === undefined || (isSplit && !isWithin) ? wholeFragment(plan) : parted;
    this.#plan = placed.plan;
    this.#fragments = placed.fragments;
    this.#contents = contents;
    this.#start();
  }

  get late(): number {
    return this.#lateBefore + this.#lateNow();
  }

  #lateNow(): number {
    let sum = 0;
    for (const { placed, fragment } of this.#running) {
      for (const { id } of placed.stage.nodes) sum += fragment.counts(id).lateRows;
    }
    return sum;
  }

  #start(): void {
    this.#running = this.#fragments.map((placed) => {
      const running: { placed: PlanFragment; fragment: Fragment } = {
        placed,
        fragment: undefined as unknown as Fragment,
      };
      running.fragment = new Fragment({
        nodes: placed.stage.nodes,
        settings: this.#plan.settings,
        memory: new QueryMemory(this.#plan.settings.memoryBytesMax),
        createOperator: (node, inputs, context) =>
          createOperator(node, inputs, {
            ...context,
            lookupTable: (_, columns) => tableOf(columns),
          }),
        edges: {
          inputCount: ({ id, op }) => (op.kind === "exchange" ? this.#senders(id).length : 1),
          createOutput: (node, input) => this.#output(node, input, placed),
        },
      });
      return running;
    });
    for (const { placed } of this.#running) {
      for (const { id, op } of placed.stage.nodes) {
        if (op.kind === "source") this.#open(id, op);
      }
    }
  }

  /** Each file is read by every source node that names it; all of them at once. */
  #open(node: number, op: SourceOp): void {
    if (this.#readers.some((reader) => reader.node === node)) return;
    this.#readers.push({ op, node, parser: this.#parser(node, op), at: 0 });
  }

  #parser(node: number, op: SourceOp): RecordParser {
    const emit = (batch: Batch): void => {
      const rows = op.ingestionTime ? withIngestionTime(batch, BigInt(this.#now)) : batch;
      this.#input(node).push(rows);
    };
    const fail = (): never => {
      throw new Error("a record of the test is malformed");
    };
    return createRecordParser(op, { emit, malformed: { skipped: fail, nulled: fail } });
  }

  #input(node: number): ReturnType<Fragment["input"]> {
    const owner = this.#running.find(({ placed }) =>
      placed.stage.nodes.some(({ id, op }) => id === node && op.kind === "source"),
    ) as Running;
    return owner.fragment.input(node);
  }

  #senders(exchange: number): readonly PlanFragment[] {
    return this.#fragments.filter(({ stage }) => stage.sends.includes(exchange));
  }

  #output(node: PlanNode, input: Schema, from: PlanFragment): ReturnType<typeof createOperator> {
    const { op, id } = node;
    if (op.kind === "sink") {
      const writer = createRecordWriter(op, node.schema);
      return {
        push: (_, batch) => {
          this.output += Buffer.from(writer.write(batch)).toString("utf8");
        },
      };
    }
    const receivers = this.#fragments.filter(({ stage }) => stage.receives.includes(id));
    const side = this.#senders(id).indexOf(from);
    const keys = op.kind === "exchange" ? op.keys : [];
    return createSender({
      keys,
      keyTypes: keys.map((key) => input[key]?.type.name ?? "UINT8"),
      receiverCount: receivers.length,
      send: (receiver, bytes) => {
        const to = this.#running.find(({ placed }) => placed === receivers[receiver]) as Running;
        this.#frames.push({ to, node, side, bytes });
      },
    });
  }

  #deliver(): void {
    for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
      const { to, node, side, bytes } = frame;
      const input = to.fragment.input(node.id, side);
      const decoded = decodeFrame(
        bytes,
        node.schema.map(({ type }) => type.name),
      );
      if (decoded.kind === "rows") input.push(decoded.batch);
      else if (decoded.kind === "watermark") input.watermark(decoded.time);
      else if (decoded.kind === "end") input.end();
    }
  }

  #readersOf(file: number): readonly Reader[] {
    return this.#readers.filter(({ op }) => op.config.FILE_PATH === `file${file}`);
  }

  buffer(file: number, byteCount: number, now: number): void {
    this.#now = now;
    const content = this.#contents[file] as Uint8Array;
    for (const reader of this.#readersOf(file)) {
      reader.parser.push(content.slice(reader.at, reader.at + byteCount));
      reader.at = Math.min(content.length, reader.at + byteCount);
      reader.parser.flush();
      this.#input(reader.node).mark();
    }
    this.#deliver();
  }

  end(file: number, now: number): void {
    this.#now = now;
    for (const { parser, node } of this.#readersOf(file)) {
      parser.end();
      this.#input(node).mark();
      this.#input(node).end();
    }
    this.#deliver();
  }

  /** Everything that is kept goes through its bytes into new fragments. */
  restart(): void {
    const saved = this.#running.map(({ fragment }) =>
      fragment.snapshot().map(
        ({ node, sections, combined, told }): SavedNodeState => ({
          node,
          combined,
          told,
          sections: sections.map((section) => ({
            key: section.key,
            bytes: section.encode().slice(),
          })),
        }),
      ),
    );
    this.#lateBefore += this.#lateNow();
    this.#start();
    for (const [index, { fragment }] of this.#running.entries())
      fragment.restore(saved[index] ?? []);
    for (const reader of this.#readers) {
      const pending = reader.parser.pendingBytes;
      reader.at -= pending;
      reader.parser = this.#parser(reader.node, reader.op);
      const content = this.#contents.find(
        (_, file) => reader.op.config.FILE_PATH === `file${file}`,
      );
      reader.parser.push((content as Uint8Array).slice(reader.at, reader.at + pending));
      reader.at += pending;
    }
  }
}
