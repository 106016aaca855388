/**
 * Moves the rows of one source into its fragment: reads, parses, pushes, and marks the end of each
 * read buffer. Whatever it does between two waits is done, so that a checkpoint between them finds
 * each row either in the fragment or behind the source's position (SU2).
 */
import type { Clock } from "../../../../ground/kernel/clock.ts";
import {
  type Batch,
  type FragmentInput,
  type RecordParser,
  withIngestionTime,
} from "../../engine/core/index.ts";
import { DialectError } from "../../language/core/index.ts";
import type { Reading, SourceReader } from "../core/connector.ts";
import type { Turn } from "./fair-turns.ts";
import type { Labour } from "./fragment-figures.ts";

/** The errors of records, among those of all that happens to their rows. */
const recordErrors: readonly number[] = [2004, 3002, 4000];

export interface SourcePumpParts {
  /** For people. */
  readonly name: string;
  readonly reader: SourceReader;
  readonly input: FragmentInput;
  /** Absent for a source that gives rows. */
  readonly createParser: ((options: ParserOptions) => RecordParser) | undefined;
  /** Whether the time of reading is a column, and makes the watermarks. */
  readonly ingestionTime: boolean;
  readonly idleTimeoutMs: number;
  readonly clock: Clock;
  readonly labour: Labour;
  /** A source that always has rows never waits, and would leave nobody a turn. */
  readonly turn: Turn;
  /** Resolves when the sinks have room. */
  readonly room: () => Promise<void> | undefined;
}

export interface ParserOptions {
  readonly emit: (batch: Batch) => void;
  /** Whether the bytes begin where a file begins, so that names may stand there. */
  readonly startsFile: boolean;
  /** For people: the place of a byte, counted from the first one pushed. */
  readonly place: (offset: number) => string;
}

export class SourcePump {
  readonly #parts: SourcePumpParts;
  #parser: RecordParser | undefined;
  /** How many bytes the parser was given. */
  #parserBytes = 0;
  #bytesRead = 0;
  #lastRowsAtMs: number;
  #ingestedAt = 0n;
  #isDraining = false;
  #isSuspended = false;

  constructor(parts: SourcePumpParts) {
    this.#parts = parts;
    this.#lastRowsAtMs = parts.clock.nowMs();
    this.#parser = this.#createParser(parts.reader.startsInside !== true);
  }

  get bytesRead(): number {
    return this.#bytesRead;
  }

  /** Whether it was drained so that a later run goes on. */
  get isSuspended(): boolean {
    return this.#isSuspended;
  }

  /** Bytes of a record that has not ended yet. */
  get pendingBytes(): number {
    return this.#parser?.pendingBytes ?? 0;
  }

  /** Where the source goes on after a checkpoint that is taken now. */
  position(): string | undefined {
    return this.#parts.reader.position(this.pendingBytes);
  }

  close(): Promise<void> {
    return this.#parts.reader.close();
  }

  /**
   * Reads no more. The source ends as if it had ended by itself, but for a record that was read in
   * part; with `suspend` it does not end at all, for a checkpoint that goes on from here.
   */
  drain(suspend = false): void {
    this.#isDraining = true;
    this.#isSuspended = suspend;
    void this.#parts.reader.close();
  }

  /** Resolves when the source has ended or `signal` was aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { reader, labour, turn, room } = this.#parts;
    while (!signal.aborted) {
      const reading = await reader.read();
      if (signal.aborted) return;
      if (reading.kind === "end" || (this.#isDraining && reading.kind === "idle")) {
        this.#end();
        return;
      }
      labour.begin();
      if (reading.kind === "idle") this.#idle();
      else this.#take(reading);
      labour.end();
      await room();
      await turn.giveWay();
    }
  }

  #take(reading: Exclude<Reading, { readonly kind: "idle" | "end" }>): void {
    if (reading.kind === "rows") this.#push(reading.batch);
    else if (reading.kind === "fileEnd") this.#endFile();
    else if (reading.kind === "cut") this.#parser = this.#createParser(true);
    else this.#parse(reading.bytes);
    this.#parts.input.mark();
    this.#tellIngestion();
  }

  #createParser(startsFile: boolean): RecordParser | undefined {
    const { createParser, reader } = this.#parts;
    this.#parserBytes = 0;
    const place = (offset: number): string =>
      reader.place?.(this.#parserBytes - offset) ?? `byte ${offset}`;
    return createParser?.({ emit: (batch) => this.#push(batch), startsFile, place });
  }

  #parse(bytes: Uint8Array): void {
    this.#bytesRead += bytes.length;
    this.#parserBytes += bytes.length;
    this.#naming(() => {
      this.#parser?.push(bytes);
      this.#parser?.flush();
    });
  }

  /** What is wrong with a record is told with the name of its source. */
  #naming(parse: () => void): void {
    try {
      parse();
    } catch (thrown) {
      if (!(thrown instanceof DialectError) || !recordErrors.includes(thrown.number)) throw thrown;
      const { number, message, hint } = thrown;
      throw new DialectError(number, `${this.#parts.name}: ${message}`, { hint });
    }
  }

  #endFile(): void {
    this.#naming(() => this.#parser?.end());
    this.#parser = this.#createParser(true);
  }

  #end(): void {
    if (this.#isSuspended) return;
    const { input } = this.#parts;
    if (!this.#isDraining) this.#naming(() => this.#parser?.end());
    input.mark();
    input.end();
  }

  #push(batch: Batch): void {
    const { input, ingestionTime, clock } = this.#parts;
    this.#lastRowsAtMs = clock.nowMs();
    if (!ingestionTime) {
      input.push(batch);
      return;
    }
    input.push(withIngestionTime(batch, this.#now()));
  }

  /** Wall time, which never runs backwards here. */
  #now(): bigint {
    const now = BigInt(Math.floor(this.#parts.clock.wallMs()));
    if (now > this.#ingestedAt) this.#ingestedAt = now;
    return this.#ingestedAt;
  }

  /** Rows to come have a time that is not less than now. */
  #tellIngestion(): void {
    const { ingestionTime, input, reader } = this.#parts;
    if (ingestionTime && !reader.bounded) input.watermark(this.#now() - 1n);
  }

  #idle(): void {
    const { reader, clock, idleTimeoutMs, input, ingestionTime } = this.#parts;
    if (reader.bounded) return;
    if (ingestionTime) this.#tellIngestion();
    else if (clock.nowMs() - this.#lastRowsAtMs >= idleTimeoutMs) input.idle();
  }
}
