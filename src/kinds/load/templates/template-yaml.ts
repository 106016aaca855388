/**
 * Templates as files. What is exported says only what differs from the defaults, and reads back as
 * the same template.
 */
import { isAlias, isMap, isSeq, LineCounter, parseDocument, stringify } from "yaml";
import { OperatingError } from "../../../ground/kernel/errors.ts";
import type { TemplateDocument } from "./document.ts";
import { parseTemplate } from "./parse-template.ts";
import {
  findMaxSchema,
  guardrailSchema,
  scalingSchema,
  verdictSchema,
  workloadSchema,
} from "./schema.ts";

const textMax = 32 * 1024 * 1024;

/** Plain values. Throws `bad_request` with the line where the text is no YAML. JSON is YAML. */
export function readTemplateText(text: string): unknown {
  if (text.length > textMax) {
    throw new OperatingError("bad_request", "never", "a template has at most 32 MB");
  }
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lines.linePos(error.pos[0]);
    const [problem = "it cannot be read"] = error.message.split("\n");
    throw new OperatingError("bad_request", "never", `line ${line}: ${problem}`);
  }
  refuseAliases(document.contents);
  return document.toJS();
}

export function parseTemplateYaml(text: string): TemplateDocument {
  return parseTemplate(readTemplateText(text));
}

export function formatTemplateYaml(document: TemplateDocument): string {
  const { template_name, description, target, workload, pools, slos } = document;
  const { read_percent: _, write_percent: __, preset: ___, operations, ...load } = workload;
  const { enabled: ____, ...findMax } = document.find_max;
  const written = {
    template_name,
    ...without({ description }, { description: "" }),
    target: without(target, {
      password_env: null,
      allowed_hosts: [],
      table_name: "load_items",
      table_type: null,
      warehouse: null,
      scale: 1,
      load_sql: [],
      reset_sql: [],
      reset_data: false,
    }),
    workload: {
      load_mode: load.load_mode,
      ...without(load, { ...workloadSchema.parse({}), load_mode: load.load_mode }),
      operations: operations.map((each) =>
        without(each, { kind: "CUSTOM", transaction: false, parameters: {} }),
      ),
    },
    ...section("scaling", without(document.scaling, scalingSchema.parse({}))),
    ...section("find_max", without(findMax, findMaxSchema.parse({}))),
    ...section("guardrails", without(document.guardrails, guardrailSchema.parse({}))),
    ...(slos.length === 0 ? {} : { slos }),
    ...section("verdict", without(document.verdict, verdictSchema.parse({}))),
    ...section("pools", pools),
  };
  return stringify(written, { lineWidth: 120, aliasDuplicateObjects: false });
}

function section(name: string, value: object): object {
  return Object.keys(value).length === 0 ? {} : { [name]: value };
}

/** The fields that are not as they would be if they were left out. */
function without(value: object, defaults: object): Record<string, unknown> {
  const usual = defaults as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, own]) =>
        own !== undefined &&
        !(name in usual && JSON.stringify(usual[name]) === JSON.stringify(own)),
    ),
  );
}

/** Refuses aliases, which can expand without bound. */
function refuseAliases(node: unknown): void {
  if (isAlias(node)) {
    throw new OperatingError("bad_request", "never", "aliases (*name) are not supported");
  }
  if (isSeq(node)) for (const item of node.items) refuseAliases(item);
  if (isMap(node)) for (const { value } of node.items) refuseAliases(value);
}
