/**
 * One operator in its fragment: it keeps what the operator's inputs have said about time, and hands
 * on what the operator emits. See `fragment.ts` for the rules.
 */
import type { PlanNode } from "../../../language/core/index.ts";
import { type Batch, selectedCount } from "../batch.ts";
import { endOfTime, type Operator, startOfTime } from "../operator.ts";
import type { MemoryHolder } from "./query-memory.ts";

/** What one input has said about time. */
interface InputState {
  readonly shift: bigint;
  watermark: bigint;
  idle: boolean;
}

interface Consumer {
  readonly station: Station;
  readonly input: number;
  /** It gets late rows, which its fragment gives to it, and here only the time. */
  readonly isLate: boolean;
}

export interface StationCounts {
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly lateRows: number;
  readonly stateBytes: number;
  readonly watermark: bigint;
}

export class Station implements MemoryHolder {
  readonly node: PlanNode;
  /** Set by the fragment while it is built: the operator's context refers to the station. */
  operator: Operator = { push: () => undefined };
  lateRows = 0;
  stateBytes = 0;
  readonly #inputs: readonly InputState[];
  readonly #consumers: Consumer[] = [];
  #wantsMarks = false;
  #rowsIn = 0;
  #rowsOut = 0;
  #combined = startOfTime;
  #told = startOfTime;
  #idle = false;

  constructor(node: PlanNode, shifts: readonly number[]) {
    this.node = node;
    this.#inputs = shifts.map((shiftMs) => ({
      shift: BigInt(shiftMs),
      watermark: startOfTime,
      idle: false,
    }));
  }

  get description(): string {
    return `operator ${this.node.id} (${this.node.op.kind})`;
  }

  get counts(): StationCounts {
    return {
      rowsIn: this.#rowsIn,
      rowsOut: this.#rowsOut,
      lateRows: this.lateRows,
      stateBytes: this.stateBytes,
      watermark: this.#told,
    };
  }

  /** The watermark of all inputs together. */
  get watermark(): bigint {
    return this.#combined;
  }

  /** The number of the input that holds the watermark back. */
  get slowestInput(): number {
    let slowest = 0;
    for (const [input, { watermark, idle }] of this.#inputs.entries()) {
      const least = this.#inputs[slowest];
      if (!idle && (least === undefined || least.idle || watermark < least.watermark)) {
        slowest = input;
      }
    }
    return slowest;
  }

  connect(consumer: Station, input: number, isLate: boolean): void {
    this.#consumers.push({ station: consumer, input, isLate });
  }

  /** Consumers come later in a plan, so this is called for the last station first. */
  settle(): void {
    const isMaker = this.operator.mark !== undefined;
    this.#wantsMarks = isMaker || this.#consumers.some(({ station }) => station.#wantsMarks);
  }

  emit(batch: Batch): void {
    const rows = selectedCount(batch);
    if (rows === 0) return;
    this.#rowsOut += rows;
    for (const { station, input, isLate } of this.#consumers) {
      if (!isLate) station.push(input, batch);
    }
  }

  push(input: number, batch: Batch): void {
    const rows = selectedCount(batch);
    if (rows === 0) return;
    this.#rowsIn += rows;
    if (this.#inputs[input]?.idle === true) this.tellIdle(input, false);
    this.operator.push(input, batch);
  }

  mark(): void {
    if (!this.#wantsMarks) return;
    this.operator.mark?.();
    this.#tell();
    for (const { station } of this.#consumers) station.mark();
  }

  tellWatermark(input: number, watermark: bigint): void {
    const state = this.#inputs[input];
    if (state === undefined) return;
    const shifted = watermark === endOfTime ? endOfTime : watermark - state.shift;
    if (shifted <= state.watermark) return;
    state.watermark = shifted;
    this.#combine();
  }

  tellIdle(input: number, idle: boolean): void {
    const state = this.#inputs[input];
    if (state === undefined || state.idle === idle || state.watermark === endOfTime) return;
    state.idle = idle;
    if (idle) this.#combine();
    const all = this.#inputs.every((each) => each.idle || each.watermark === endOfTime);
    const idleNow = all && this.#combined !== endOfTime;
    if (idleNow === this.#idle) return;
    this.#idle = idleNow;
    this.operator.idle?.(idleNow);
    for (const each of this.#consumers) each.station.tellIdle(each.input, idleNow);
  }

  /** Continues where a snapshot was taken: nothing that was promised then is taken back. */
  restoreTime(combined: bigint, told: bigint): void {
    this.#combined = combined;
    this.#told = told;
    for (const { station, input } of this.#consumers) {
      const state = station.#inputs[input];
      if (state !== undefined) {
        state.watermark = told === endOfTime ? endOfTime : told - state.shift;
      }
    }
  }

  #combine(): void {
    let least = endOfTime;
    let counted = 0;
    for (const { watermark, idle } of this.#inputs) {
      if (idle) continue;
      counted += 1;
      if (watermark < least) least = watermark;
    }
    // When every input is idle, nobody says that time has passed.
    if (counted === 0 || least <= this.#combined) return;
    this.#combined = least;
    this.operator.advance?.(least);
    this.#tell();
  }

  #tell(): void {
    const { operator } = this;
    const watermark =
      this.#combined === endOfTime
        ? endOfTime
        : (operator.outputWatermark?.(this.#combined) ?? this.#combined);
    if (watermark <= this.#told) return;
    this.#told = watermark;
    for (const { station, input } of this.#consumers) station.tellWatermark(input, watermark);
  }
}
