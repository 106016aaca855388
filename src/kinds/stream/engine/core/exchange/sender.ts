/**
 * The end of an exchange that sends: spreads the rows of a batch over the receivers by the key
 * group of their keys, and tells each of them about time. Without keys, or with one receiver, all
 * rows go to the first. Rules: SG15 and SG16.
 */
import type { TypeName } from "../../../language/core/index.ts";
import { type Batch, selectedCount } from "../batch.ts";
import { endOfTime, type Operator } from "../operator.ts";
import { allRows, viewsOf } from "../tables/column-view.ts";
import { hashRowsOf, keyGroupCount, keyGroupOf } from "../tables/hash-rows.ts";
import { encodeFrame, type Frame } from "./frame.ts";

export interface SenderOptions {
  readonly keys: readonly number[];
  /** Of the keys. */
  readonly keyTypes: readonly TypeName[];
  readonly receiverCount: number;
  /** `rows` are those in the frame. */
  readonly send: (receiver: number, frame: Uint8Array<ArrayBuffer>, rows: number) => void;
}

/** Which receiver has a key group: groups are given out in runs of equal length. */
export function receiverOf(keyGroup: number, receiverCount: number): number {
  return Math.floor((keyGroup * receiverCount) / keyGroupCount);
}

export function createSender(options: SenderOptions): Operator & { tell(frame: Frame): void } {
  const { keys, keyTypes, send } = options;
  const receiverCount = keys.length === 0 ? 1 : options.receiverCount;
  const receivers = Array.from({ length: options.receiverCount }, (_, receiver) => receiver);
  const hashRows = hashRowsOf(keyTypes, "high");
  const targets = Int32Array.from({ length: keyGroupCount }, (_, group) =>
    receiverOf(group, receiverCount),
  );
  let hashes = new Int32Array(0);
  let picked: Int32Array[] = [];
  const counts = new Int32Array(receiverCount);
  let hasEnded = false;

  function tell(frame: Frame): void {
    // Nobody listens behind an end.
    if (hasEnded) return;
    hasEnded = frame.kind === "end" || frame.kind === "stop";
    for (const receiver of receivers) send(receiver, encodeFrame(frame), 0);
  }

  function push(_: number, batch: Batch): void {
    if (receiverCount === 1) {
      send(0, encodeFrame({ kind: "rows", batch }), selectedCount(batch));
      return;
    }
    const count = selectedCount(batch);
    const rows = batch.selection ?? allRows(count);
    if (hashes.length < count) {
      hashes = new Int32Array(count);
      picked = Array.from({ length: receiverCount }, () => new Int32Array(count));
    }
    hashRows(viewsOf(batch.columns, keys), rows, count, hashes);
    counts.fill(0);
    for (let index = 0; index < count; index += 1) {
      const receiver = targets[keyGroupOf(hashes[index] as number)] as number;
      const at = counts[receiver] as number;
      (picked[receiver] as Int32Array)[at] = rows[index] as number;
      counts[receiver] = at + 1;
    }
    for (let receiver = 0; receiver < receiverCount; receiver += 1) {
      const found = counts[receiver] as number;
      if (found === 0) continue;
      const selection = (picked[receiver] as Int32Array).subarray(0, found);
      send(receiver, encodeFrame({ kind: "rows", batch: { ...batch, selection } }), found);
    }
  }

  return {
    push,
    advance: (watermark) =>
      tell(watermark === endOfTime ? { kind: "end" } : { kind: "watermark", time: watermark }),
    idle: (isIdle) => {
      if (isIdle) tell({ kind: "idle" });
    },
    tell,
  };
}
