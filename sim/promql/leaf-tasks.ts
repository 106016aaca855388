/**
 * Leaves of PromQL queries, executed as a worker's compute thread does: series put together, the
 * leaf run, an artifact's bytes.
 */
import { assert } from "../../src/ground/kernel/errors.ts";
import type { WorkSpec } from "../../src/ground/work/core/index.ts";
import { executeLeaf } from "../../src/kinds/ask/promql/core/index.ts";
import { type LeafWork, parseWork } from "../../src/kinds/ask/run/core/work-body.ts";
import { encodeLeafResult } from "../../src/kinds/ask/run/leaf-artifact.ts";
import type { Product, TaskOf } from "../world/sim-executor.ts";
import type { SimLake } from "./sim-lake.ts";

/** `runMsOf`: how long a work takes. */
export function leafTasks(lake: SimLake, runMsOf: (work: WorkSpec) => number): TaskOf {
  return (work) => {
    const leafWork = parseWork(work.body);
    assert(leafWork.op === "leaf", "nobody asks for labels here");
    const produce = (): Product => produceLeaf(lake, leafWork);
    return { runMs: runMsOf(work), isPoison: false, produce };
  };
}

function produceLeaf(lake: SimLake, work: LeafWork): Product {
  const { leaf, samplesMax } = work;
  const result = executeLeaf(leaf, lake.series(work), { samplesMax });
  const { bytes, rowCount } = encodeLeafResult(result, leaf);
  return { content: bytes, rowCount, minTs: leaf.grid.startMs, maxTs: leaf.grid.endMs };
}
