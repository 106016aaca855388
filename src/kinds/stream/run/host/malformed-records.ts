/** The records of a fragment's sources that cannot be read: counted, kept to be told, put aside. */
import { createRecordParser, type RecordParser } from "../../engine/core/index.ts";
import { deadLetterNode, type PlanNode, type SourceOp } from "../../language/core/index.ts";
import { deadLetterBatch } from "./dead-letter-batch.ts";
import type { ParserOptions } from "./source-pump.ts";

/** How many malformed records are kept to be told. */
const textsMax = 10;

export interface SourceNode extends PlanNode {
  readonly op: SourceOp;
}

export class MalformedRecords {
  readonly #nodes: readonly PlanNode[];
  readonly #putAside: (sink: number, batch: ReturnType<typeof deadLetterBatch>) => void;
  readonly #counts = new Map<number, number>();
  /** The first few, for people. */
  readonly texts: string[] = [];

  /** `putAside` takes the rows for the sinks of such records. */
  constructor(
    nodes: readonly PlanNode[],
    putAside: (sink: number, batch: ReturnType<typeof deadLetterBatch>) => void,
  ) {
    this.#nodes = nodes;
    this.#putAside = putAside;
  }

  count(node: number): number {
    return this.#counts.get(node) ?? 0;
  }

  createParser(node: SourceNode, { emit, startsFile, place }: ParserOptions): RecordParser {
    const parser = startsFile ? node.op.parser : { ...node.op.parser, HEADER: false };
    const deadLetters = deadLetterNode(this.#nodes, node);
    const add = (count: number): void => {
      this.#counts.set(node.id, this.count(node.id) + count);
    };
    const skipped = (record: Uint8Array, offset: number, reason: string): void => {
      add(1);
      const at = place(offset);
      if (deadLetters !== undefined) {
        this.#putAside(deadLetters, deadLetterBatch(node.op.name, at, reason, record));
      }
      if (this.texts.length < textsMax) this.texts.push(`${node.op.name}, ${at}: ${reason}`);
    };
    return createRecordParser(
      { ...node.op, parser },
      { emit, malformed: { nulled: add, skipped, place } },
    );
  }
}
