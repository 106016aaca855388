import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stagesOf } from "../../../run/core/index.ts";
import {
  grouped,
  type Placed,
  type PlanOptions,
  placed,
  planOf,
  topology,
  twice,
  worker,
} from "../../testing/placed-plans.ts";
import type { FragmentToPlace, Topology } from "../planner.ts";
import { type PlacementResult, placeQuery } from "./place-query.ts";
import { placeAgain, replaceFragments } from "./replace-fragments.ts";

function failed(result: PlacementResult): string {
  return result.kind === "failed" ? `${result.code}: ${result.message}` : "it was placed";
}

/** What each fragment has, and where it is. */
function shape({ plan, placement }: Placed): string[] {
  const stages = stagesOf(plan.plan);
  return placement.map(({ workerId, isPinned }, at) => {
    const kinds = stages[plan.fragments[at]?.stage ?? 0]?.nodes.map(({ op }) => op.kind) ?? [];
    const role = ["source", "windowAggregate", "sink"].filter((kind) =>
      kinds.some((one) => one === kind),
    );
    return `${role.join("+") || "relay"} on ${workerId}${isPinned ? " (pinned)" : ""}`;
  });
}

const sorted = (lines: readonly string[]): readonly string[] =>
  lines.toSorted((one, other) => (one < other ? -1 : 1));

const cases: readonly {
  readonly name: string;
  readonly plan: PlanOptions;
  readonly topology: Topology;
  readonly want: readonly string[];
}[] = [
  {
    name: "without parallelism a query is one fragment, on the worker with the most free slots",
    plan: { parallelism: 1, sources: ["", ""] },
    topology: topology([worker("a", { slotsUsed: 3 }), worker("b", { slotsUsed: 1 }), "c"]),
    want: ["source+windowAggregate+sink on c"],
  },
  {
    name: "a query whose only place is one worker is one fragment there",
    plan: { parallelism: 1, sources: ["b"], sink: "B" },
    topology: topology(["a", "b", "c"]),
    want: ["source+windowAggregate+sink on b (pinned)"],
  },
  {
    name: "sources and sinks run on the workers that they name",
    plan: { parallelism: 1, sources: ["b", "c"], sink: "c.example:4611" },
    topology: topology(["a", "b", "c"]),
    want: [
      "source on b (pinned)",
      "source on c (pinned)",
      "windowAggregate on a",
      "sink on c (pinned)",
    ],
  },
  {
    name: "keys are spread over workers, and the rest evenly",
    plan: { parallelism: 2 },
    topology: topology(["a", "b"]),
    want: ["source on a", "windowAggregate on b", "windowAggregate on a", "sink on b"],
  },
  {
    name: "keys are spread over the workers that all senders reach",
    plan: { parallelism: 4, sources: ["e1", "e2"] },
    topology: topology(["c1", "c2", "c3", "e1", "e2"], "e1>c1 e1>c2 e2>c1 e2>c2 c1>c2 c1>c3 c2>c3"),
    want: [
      "source on e1 (pinned)",
      "source on e2 (pinned)",
      ...["c1", "c2", "c1", "c2"].map((one) => `windowAggregate on ${one}`),
      "sink on c3",
    ],
  },
  {
    name: "a worker without any link reaches all and is reached by all",
    plan: { parallelism: 2, sources: ["e"] },
    topology: topology(["c", "e", "free"], "c>e"),
    want: [
      "source on e (pinned)",
      "windowAggregate on free",
      "windowAggregate on e",
      "sink on free",
    ],
  },
  {
    name: "where not every pair has a link, keys are gathered at a worker that all reach",
    plan: { parallelism: 2, sources: ["a", "b"], sink: "c" },
    topology: topology(["a", "b", "c"], "a>c b>c"),
    want: [
      "source on a (pinned)",
      "source on b (pinned)",
      ...["c", "c"].map((one) => `windowAggregate on ${one}`),
      "sink on c (pinned)",
    ],
  },
  {
    name: "workers on the way pass rows on where there is no single link",
    plan: { parallelism: 2, sources: ["edge"], sink: "cloud" },
    topology: topology(["cloud", "edge", "gate", "mid"], "edge>gate gate>mid mid>cloud"),
    want: [
      "source on edge (pinned)",
      "windowAggregate on gate",
      "relay on mid",
      "sink on cloud (pinned)",
    ],
  },
  {
    name: "a sink that rows of any number may go to is where it says",
    plan: { parallelism: 1, sources: ["a", "b"], sink: "c", query: "SELECT * FROM s INTO nowhere" },
    topology: topology(["a", "b", "c"]),
    want: ["source on a (pinned)", "source on b (pinned)", "sink on c (pinned)"],
  },
];

for (const one of cases) {
  test(`[SC22] ${one.name}`, () => {
    const result = placed(placeQuery(planOf(one.plan), one.topology));
    assert.deepEqual(sorted(shape(result)), sorted(one.want));
  });
}

const failures: readonly {
  readonly name: string;
  readonly plan: PlanOptions;
  readonly topology: Topology;
  readonly want: RegExp;
}[] = [
  {
    name: "no worker at all",
    plan: {},
    topology: topology([]),
    want: /^PlacementError: there is no worker/,
  },
  {
    name: "nobody takes fragments",
    plan: {},
    topology: topology([worker("a", { takesFragments: false, reason: "it is draining" })]),
    want: /^PlacementError: no worker takes fragments \(a: it is draining\)/,
  },
  {
    name: "the named worker takes none",
    plan: { sources: ["a"] },
    topology: topology([worker("a", { takesFragments: false, reason: "it is UNREACHABLE" }), "b"]),
    want: /^PlacementError: the source s is placed on a, which takes no fragments: it is UNREACHABLE/,
  },
  {
    name: "the named worker does not exist",
    plan: { sources: ["nobody"] },
    topology: topology(["a"]),
    want: /^WorkerDoesNotExistForPhysical: the source s is placed on nobody/,
  },
  {
    name: "the worker of the sink does not exist",
    plan: { sink: "nobody:1" },
    topology: topology(["a"]),
    want: /^WorkerDoesNotExistForSink: the sink out is placed on nobody:1/,
  },
  {
    name: "a source cannot reach a sink",
    plan: { sources: ["a", "b"], sink: "c" },
    topology: topology(["a", "b", "c"], "a>c c>b"),
    want: /^PlacementError: the source s on b cannot reach the sink out on c/,
  },
  {
    name: "two sources have no worker in common",
    plan: { sources: ["a", "b"] },
    topology: topology(["a", "b", "c", "d"], "a>c b>d"),
    want: /^PlacementError: no worker is reached by both the source s on b and the source s on a/,
  },
  {
    name: "slots of all workers",
    plan: { parallelism: 3 },
    topology: topology([worker("a", { slots: 2 }), worker("b", { slots: 3, slotsUsed: 1 })]),
    want: /^InsufficientCapacity: the query needs 5 stream slots, and 4 are free \(a 2 of 2, b 2 of 3\): 1 is missing/,
  },
  {
    name: "slots of a named worker",
    plan: { sources: ["a", "a"], sink: "a", parallelism: 2 },
    topology: topology([worker("a", { slots: 5, slotsUsed: 3 }), "b"]),
    want: /^InsufficientCapacity: the query needs 3 stream slots of the worker a, which has 2 free of 5/,
  },
];

for (const one of failures) {
  test(`[SC24] ${one.name}`, () => {
    assert.match(failed(placeQuery(planOf(one.plan), one.topology)), one.want);
  });
}

test("[SC25] fragments of a lost worker go elsewhere, the others stay", () => {
  const before = topology(["a", "b", "c"]);
  const { plan, placement } = placed(
    placeQuery(planOf({ parallelism: 3, sources: ["a"] }), before),
  );
  const rows = placement.map(
    ({ fragment, workerId, isPinned }): FragmentToPlace => ({
      fragment,
      worker_id: workerId,
      is_pinned: isPinned ? 1 : 0,
    }),
  );
  const used = (id: string): number => rows.filter(({ worker_id }) => worker_id === id).length;
  const now = topology(
    ["a", "b", "c"].map((id) => worker(id, { slotsUsed: used(id), takesFragments: id !== "b" })),
  );
  const result = replaceFragments(plan, rows, now, new Set(["b"]));
  assert.equal(result.kind, "placed");
  const moved = result.kind === "placed" ? result.fragments : [];
  assert.deepEqual(
    moved.map(({ fragment }) => fragment),
    rows.filter(({ worker_id }) => worker_id === "b").map(({ fragment }) => fragment),
  );
  assert.ok(moved.every(({ worker_id }) => worker_id !== "b"));
  const pinned = replaceFragments(plan, rows, now, new Set(["a"]));
  assert.ok(pinned.kind === "placed" && pinned.fragments.every(({ is_pinned }) => is_pinned === 0));
});

test("[SC25] where nobody takes the fragments of a lost worker, it says why", () => {
  const before = topology(["a", "b"]);
  const { plan, placement } = placed(placeQuery(planOf({ parallelism: 2 }), before));
  const rows = placement.map(({ fragment, workerId }) => ({
    ...{ fragment, worker_id: workerId, is_pinned: 0 },
  }));
  const full = topology([worker("a", { slots: 2, slotsUsed: 2 }), "b"]);
  const result = replaceFragments(plan, rows, full, new Set(["b"]));
  assert.deepEqual(result, {
    kind: "none",
    reason: "2 stream slots are needed on other workers, and 0 are free",
  });
  const alone = topology([worker("b", { takesFragments: false, reason: "it is UNREACHABLE" })]);
  const none = replaceFragments(plan, rows, alone, new Set(["b"]));
  assert.match(none.kind === "none" ? none.reason : "", /^no other worker takes the fragment s/);
});

test("[SC25] a query that holds no slots is placed anew, what is pinned at its worker", () => {
  const { plan, placement } = placed(
    placeQuery(planOf({ parallelism: 2, sources: ["a"] }), topology(["a", "b"])),
  );
  const rows = placement.map(({ fragment, workerId, isPinned }) => ({
    ...{ fragment, worker_id: workerId, is_pinned: isPinned ? 1 : 0 },
  }));
  const result = placeAgain(plan, rows, topology([worker("a", { slots: 1 }), "b", "c"]));
  assert.ok(result.kind === "placed");
  for (const { is_pinned, worker_id } of result.fragments) {
    assert.equal(worker_id === "a", is_pinned === 1);
  }
  const gone = placeAgain(plan, rows, topology(["b", "c"]));
  assert.match(gone.kind === "none" ? gone.reason : "", /runs on a only, which takes no fragments/);
});

const ids = ["a", "b", "c", "d", "e", "f"];

/** Random workers with random links, or none. */
const topologies = fc
  .record({
    workers: fc.array(
      fc.record({ slots: fc.nat(8), used: fc.nat(3), takes: fc.integer({ min: 0, max: 9 }) }),
      { minLength: 1, maxLength: ids.length },
    ),
    hasLinks: fc.boolean(),
    links: fc.array(fc.tuple(fc.nat(ids.length - 1), fc.nat(ids.length - 1)), { maxLength: 14 }),
  })
  .map(({ workers, links, hasLinks }): Topology => {
    const made = workers.map(({ slots, used, takes }, at) =>
      worker(ids[at] ?? "", {
        ...{ slots, slotsUsed: Math.min(used, slots), takesFragments: takes > 0, reason: "" },
      }),
    );
    const pairs = links
      .map(([from, to]) => [from % made.length, to % made.length] as const)
      .filter(([from, to]) => from !== to);
    return {
      workers: made,
      links: (hasLinks ? pairs : []).map(([from, to]) => ({
        from: ids[from] ?? "",
        to: ids[to] ?? "",
      })),
    };
  });

const plans = fc.record({
  sources: fc.array(fc.constantFrom("", "", "a", "b", "c"), { minLength: 1, maxLength: 3 }),
  sink: fc.constantFrom("", "", "a", "b"),
  parallelism: fc.integer({ min: 1, max: 4 }),
  query: fc.constantFrom(grouped, twice, "SELECT * FROM s INTO nowhere"),
});

/** What is wrong with a placement. */
function faults({ plan, placement }: Placed, { workers, links }: Topology): readonly string[] {
  const stages = stagesOf(plan.plan);
  const found: string[] = [];
  const workerOf = new Map(placement.map(({ fragment, workerId }) => [fragment, workerId]));
  const linked = new Set(links.flatMap(({ from, to }) => [from, to]));
  const reaches = (from: string, to: string): boolean =>
    from === to ||
    !linked.has(from) ||
    !linked.has(to) ||
    links.some((link) => link.from === from && link.to === to);
  if (placement.length !== plan.fragments.length) found.push("a fragment has no worker");
  for (const { workerId, slots, slotsUsed, takesFragments } of workers) {
    const own = placement.filter((one) => one.workerId === workerId).length;
    if (own > slots - slotsUsed) found.push(`${workerId} has ${own} of ${slots - slotsUsed} slots`);
    if (own > 0 && !takesFragments) found.push(`${workerId} takes no fragments`);
  }
  for (const sender of plan.fragments) {
    for (const exchange of stages[sender.stage]?.sends ?? []) {
      const receivers = plan.fragments.filter(({ stage }) =>
        stages[stage]?.receives.includes(exchange),
      );
      if (receivers.length === 0) found.push(`nobody receives ${exchange}`);
      for (const { name } of receivers) {
        const [from, to] = [workerOf.get(sender.name) ?? "", workerOf.get(name) ?? ""];
        if (!reaches(from, to)) found.push(`${from} has no link to ${to}`);
      }
    }
  }
  for (const { name, stage } of plan.fragments) {
    const isPinned = placement.find(({ fragment }) => fragment === name)?.isPinned;
    const named = (stages[stage]?.nodes ?? []).flatMap(({ op }) =>
      (op.kind === "source" || op.kind === "sink") && op.config.PLACEMENT !== undefined
        ? [String(op.config.PLACEMENT)]
        : [],
    );
    if (named.some((one) => one !== workerOf.get(name))) found.push(`${name} is not on ${named}`);
    if (isPinned !== named.length > 0) found.push(`${name} is pinned: ${isPinned}`);
  }
  return found;
}

test("[SC22] [SC23] every fragment is placed within slots and along links, and always alike", () => {
  let placedCount = 0;
  fc.assert(
    fc.property(plans, topologies, (options, on) => {
      const plan = planOf(options);
      const result = placeQuery(plan, on);
      assert.deepEqual(placeQuery(plan, on), result);
      if (result.kind === "failed") {
        assert.ok(result.message.length > 0);
        return;
      }
      placedCount += 1;
      assert.deepEqual(faults(result, on), []);
    }),
    { numRuns: 400, seed: 15 },
  );
  assert.ok(placedCount > 100, `${placedCount} plans were placed`);
});

test("[SC23] what is free is spread evenly over workers that are alike", () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 6 }), fc.integer({ min: 2, max: 9 }), (count, n) => {
      const on = topology(ids.slice(0, count).map((id) => worker(id, { slots: 100 })));
      const { placement } = placed(placeQuery(planOf({ parallelism: n, query: twice }), on));
      const each = ids
        .slice(0, count)
        .map((id) => placement.filter(({ workerId }) => workerId === id).length);
      assert.ok(Math.max(...each) - Math.min(...each) <= 1, each.join(" "));
    }),
    { numRuns: 40, seed: 15 },
  );
});
