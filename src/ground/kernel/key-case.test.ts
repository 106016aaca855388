import assert from "node:assert/strict";
import { test } from "node:test";
import { camelKeys, type SnakeKeys, snakeKeys } from "./key-case.ts";

interface Plan {
  readonly maxP99LatencyMs: number | null;
  readonly steps: readonly { readonly stepName: string }[];
  readonly parameters: Readonly<Record<string, { readonly lengthMin: number }>>;
}
const plan: Plan = {
  maxP99LatencyMs: null,
  steps: [{ stepName: "some_text stays" }],
  parameters: { user_id: { lengthMin: 1 }, userName: { lengthMin: 2 } },
};
const written: SnakeKeys<Plan> = {
  max_p99_latency_ms: null,
  steps: [{ step_name: "some_text stays" }],
  parameters: { user_id: { length_min: 1 }, userName: { length_min: 2 } },
};

test("keys change their case at every depth; values and keys of dictionaries do not", () => {
  assert.deepEqual(snakeKeys(plan, ["parameters"]), written);
  assert.deepEqual(camelKeys<Plan>(written, ["parameters"]), plan);
});
