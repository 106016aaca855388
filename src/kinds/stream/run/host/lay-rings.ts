/** The rings that the fragments of a run need: between threads, and from other processes. */
import type { FragmentSpec, QueryRun } from "../core/stream-host.ts";
import { type EdgeName, edgePath } from "../exchange/edge-hub.ts";
import { createRing } from "../exchange/ring.ts";

/** All rings of a query together, unless it has so many that each would be too small. */
const ringsBytesMax = 32 * 1024 * 1024;
const ringBytesMax = 1024 * 1024;
const ringBytesMin = 64 * 1024;

export interface LaidRings {
  /** All of them, by `edgePath`. */
  readonly rings: ReadonlyMap<string, SharedArrayBuffer>;
  /** Those that begin in other processes. */
  readonly arriving: readonly EdgeName[];
}

export function layRings(
  run: QueryRun,
  specs: readonly FragmentSpec[],
  threadOf: (spec: FragmentSpec) => number,
): LaidRings {
  const threads = new Map(specs.map((spec) => [spec.fragment, threadOf(spec)]));
  const names: EdgeName[] = [];
  const arriving: EdgeName[] = [];
  for (const spec of specs) {
    for (const [exchange, ends] of spec.in) {
      for (const { fragment, address } of ends) {
        const name = { ...run, exchange, from: fragment, to: spec.fragment };
        if (address !== undefined) arriving.push(name);
        else if (threads.get(fragment) !== threadOf(spec)) names.push(name);
      }
    }
  }
  const all = [...names, ...arriving];
  const bytes = ringBytes(all.length);
  return { rings: new Map(all.map((name) => [edgePath(name), createRing(bytes)])), arriving };
}

/** A power of two, as a ring wants it. */
function ringBytes(count: number): number {
  let bytes = ringBytesMax;
  while (bytes > ringBytesMin && bytes * count > ringsBytesMax) bytes /= 2;
  return bytes;
}
