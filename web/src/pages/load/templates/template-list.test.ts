import assert from "node:assert/strict";
import { test } from "node:test";
import type { ListedTemplate } from "../../../api/gen/types.ts";
import { loadText, matchesTemplate } from "./template-list.ts";

const template: ListedTemplate = {
  template_id: "t",
  template_name: "Checkout",
  description: "What the shop does",
  is_built_in: false,
  created_at_ms: 0,
  updated_at_ms: 0,
  target_kind: "postgres",
  load_mode: "QPS",
  concurrent_connections: 8,
  target_qps: 1_500,
  duration_seconds: 90,
  operations: ["pay"],
};

test("[WEB54] a template is found by name, description, target, mode and operations", () => {
  for (const text of ["", "check", "SHOP postgres", "qps", "rate pay"]) {
    assert.ok(matchesTemplate(template, text), text);
  }
  assert.ok(!matchesTemplate(template, "checkout mysql"));
});

test("[WEB54] its load is one line", () => {
  assert.equal(loadText(template), "1,500 a second for 1 min 30 s");
  const closed = { ...template, load_mode: "CONCURRENCY" as const, duration_seconds: 30 };
  assert.equal(loadText(closed), "8 connections for 30 s");
  assert.equal(loadText({ ...closed, duration_seconds: 60 }), "8 connections for 1 min");
});
