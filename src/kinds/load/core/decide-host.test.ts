import assert from "node:assert/strict";
import { test } from "node:test";
import { scenarioOf } from "../testing/scenario.ts";
import { decideHost, type LoadHost, placementOf } from "./decide-host.ts";
import type { Placement } from "./scenario.ts";

const host = (name: string, changes: Partial<LoadHost> = {}): LoadHost => ({
  name,
  hostName: `${name}.example`,
  capacity: 4,
  given: 0,
  ...changes,
});
const local = host("local", { hostName: "127.0.0.1" });

const cases: readonly [
  why: string,
  placement: Placement,
  hosts: readonly LoadHost[],
  want: string | undefined,
  tried?: readonly string[],
][] = [
  ["nobody elsewhere", "AUTO", [], "here"],
  ["only workers on this machine", "AUTO", [local], "here"],
  ["somebody elsewhere", "AUTO", [local, host("a")], "a"],
  ["the template wants it here", "COORDINATOR", [host("a")], "here"],
  ["the template wants it with workers", "WORKERS", [local], "local"],
  ["the template wants workers, and there are none", "WORKERS", [], undefined],
  ["the one with less", "AUTO", [host("a", { given: 1 }), host("b")], "b"],
  ["by capacity", "AUTO", [host("a", { given: 1 }), host("b", { capacity: 1 })], "a"],
  ["not to whom it was given in vain", "AUTO", [host("a"), host("b")], "b", ["a"]],
  ["here after all", "AUTO", [host("a")], "here", ["a"]],
  ["to nobody", "WORKERS", [host("a")], undefined, ["a"]],
];
for (const [why, placement, hosts, want, tried = []] of cases) {
  test(`[HO1] [HO2] ${why}: ${want}`, () => {
    const choice = decideHost(placement, hosts, new Set(tried));
    assert.equal(typeof choice === "object" ? choice.name : choice, want);
  });
}

const targets: readonly [kind: "postgres" | "sqlite" | "http", url: string, want: Placement][] = [
  ["postgres", "postgres://localhost/x", "COORDINATOR"],
  ["postgres", "postgres:///x?host=/run/postgres", "COORDINATOR"],
  ["postgres", "postgres://db.example/x", "AUTO"],
  ["sqlite", "sqlite:x.db", "COORDINATOR"],
  ["http", "http://127.0.0.1:80/", "COORDINATOR"],
  ["http", "http://api.example/", "AUTO"],
];
for (const [kind, url, want] of targets) {
  test(`[HO1] ${url} is loaded from: ${want}`, () => {
    assert.equal(placementOf(scenarioOf({ target: { kind, url } })), want);
    const scaling = { placement: "WORKERS" } as const;
    assert.equal(placementOf(scenarioOf({ target: { kind, url }, scaling })), "WORKERS");
  });
}
