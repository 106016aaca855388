/** Leaves of PromQL queries, executed as a worker's compute thread does: series put together, the leaf run, an artifact's bytes. */
import { assert } from "../../src/kernel/errors.ts";
import { executeLeaf } from "../../src/promql/core/index.ts";
import { type LeafWork, parseWork } from "../../src/queries/core/promql/work-body.ts";
import { encodeLeafResult } from "../../src/queries/promql/leaf-artifact.ts";
import type { WorkSpec } from "../../src/workcoord/core/index.ts";
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
