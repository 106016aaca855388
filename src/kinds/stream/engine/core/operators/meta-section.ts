/** The section of a state that holds how far an operator's time is. */
import type { StateSection } from "../operator.ts";
import { StateWriter } from "../tables/codec.ts";

/** `marks` increases by one whenever `watermark` moves, so that an unchanged section is reused. */
export function metaSection(
  kind: string,
  version: number,
  marks: number,
  watermark: bigint,
): StateSection {
  return {
    key: "meta",
    generation: marks,
    encode: () => new StateWriter(kind, version).number(marks).bigint(watermark).finish(),
  };
}
