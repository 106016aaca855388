/**
 * Decodes a decompressed remote write body into a batch of samples. Remembers the labels of earlier
 * requests, bounded (see `ByteKeyedCache`), so that they are recognised by their bytes; otherwise
 * each body is independent. Rules: IN2 to IN4, IN30.
 *
 * A malformed body throws `MalformedInput`. A series with bad labels becomes a problem of the
 * result and costs only its own samples; nothing of its labels is remembered.
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
