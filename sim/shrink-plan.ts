/** Shrinks a failing plan by leaving out ever smaller pieces of its steps. */
import { assert } from "../src/ground/kernel/errors.ts";
import type { Plan } from "./plan.ts";
import { runPlan } from "./run-plan.ts";
import type { Seams } from "./seams.ts";

/** Undefined when the plan violates nothing. The result violates the same invariant. */
export async function shrinkPlan(plan: Plan, seams: Seams): Promise<Plan | undefined> {
  const { violation } = await runPlan(plan, { seams });
  if (violation === undefined) return undefined;
  const isAsBad = async (smaller: Plan): Promise<boolean> => {
    const found = await runPlan(smaller, { seams });
    return found.violation?.invariant === violation.invariant;
  };
  const cut = plan.steps.filter(({ atMs }) => atMs <= violation.atMs);
  const durationMs = Math.min(plan.durationMs, Math.ceil(violation.atMs) + 1);
  let smallest: Plan = { ...plan, durationMs, steps: cut };
  // It needed what came after, as what never ends does.
  if (!(await isAsBad(smallest))) smallest = plan;
  for (let size = smallest.steps.length; size >= 1; size = Math.floor(size / 2)) {
    for (let index = 0; index < smallest.steps.length; ) {
      const steps = smallest.steps.toSpliced(index, size);
      const smaller: Plan = { ...smallest, steps };
      if (await isAsBad(smaller)) smallest = smaller;
      else index += size;
    }
  }
  assert(smallest.steps.length <= plan.steps.length, "shrinking makes nothing longer");
  return smallest;
}
