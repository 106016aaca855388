/**
 * A remote write body, decompressed, to a batch of samples. Holds what it learnt of a sender's labels, so that the
 * next request's are recognised by their bytes; otherwise each body is on its own.
 *
 *   WD1  A body that is not what its protocol says throws `MalformedInput`, whatever was read before.
 *   WD2  A series with labels that cannot be stored costs its own samples only: it becomes a problem of the result.
 *   WD4  A series with too many labels, or too long ones, is such a series; of its labels nothing
 *        is remembered.
 *   WD3  What is remembered has a bound (see `ByteKeyedCache`).
 */

import { type LabelLimits, usualLabelLimits } from "../label-limits.ts";
import { ByteKeyedCache } from "./byte-keyed-cache.ts";
import type { DecodedWrite } from "./decoded-write.ts";
import { decodeRequest1, type Labels1Cache } from "./remote-write-1.ts";
import { decodeRequest2, Labels2Cache } from "./remote-write-2.ts";

export type WriteProtocol = "1" | "2";

const limits = { entriesMax: 1_000_000, keyBytesMax: 256 * 1024 * 1024 };

export class WriteDecoder {
  readonly #labels1: Labels1Cache = new ByteKeyedCache(limits);
  readonly #labels2 = new Labels2Cache(limits);
  readonly #labelLimits: LabelLimits;

  constructor(labelLimits: LabelLimits = usualLabelLimits) {
    this.#labelLimits = labelLimits;
  }

  decode(body: Uint8Array, protocol: WriteProtocol): DecodedWrite {
    return protocol === "1"
      ? decodeRequest1(body, this.#labels1, this.#labelLimits)
      : decodeRequest2(body, this.#labels2, this.#labelLimits);
  }
}
