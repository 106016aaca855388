/**
 * What no single field shows: sums, and what refers to what. Each check is of parts that are right
 * by themselves.
 */
import { messageOf } from "../../../ground/kernel/errors.ts";
import { suggestField } from "../../../ground/kernel/unknown-field.ts";
import { operationOf } from "../core/compile-workload.ts";
import { queryKinds } from "../core/operation.ts";
import { parseNamedStatement } from "../core/parse-statement.ts";
import type { SloConfig } from "../core/scenario.ts";
import { readOperation } from "../core/scenario-codec.ts";
import type { TemplateDocument, TemplateProblem, WrittenValue } from "./document.ts";
import { dataStatements, resolveOperation } from "./resolve.ts";
import { hasSecret, kindOfUrl, targetSchemes } from "./target-url.ts";

type Target = TemplateDocument["target"];
type Workload = TemplateDocument["workload"];

export function checkTarget({ url, kind }: Pick<Target, "url" | "kind">): TemplateProblem[] {
  const path = "target.url";
  const problems: TemplateProblem[] = [];
  const found = kindOfUrl(url);
  if (found === undefined) {
    problems.push({ path, message: `expected a URL with one of ${targetSchemes.join(", ")}` });
  } else if (found !== kind) {
    problems.push({ path, message: `is a URL of ${found}; target.kind says ${kind}` });
  }
  if (hasSecret(url)) {
    const message =
      "has a secret in it, and templates are shown and exported; leave it out and set password_env to the name of an environment variable that has it";
    problems.push({ path, message });
  }
  return problems;
}

/** Load and reset statements say which of them is wrong. */
export function checkDataSql(target: Target): TemplateProblem[] {
  const problems = (["load_sql", "reset_sql"] as const).flatMap((field) =>
    target[field].flatMap((each, at) =>
      refusalsOf(`target.${field}[${at}]`, () => dataStatements([each], target)),
    ),
  );
  if (target.reset_data && target.reset_sql.length === 0) {
    const message = "there is nothing to reset with; target.reset_sql has no statement";
    problems.push({ path: "target.reset_data", message });
  }
  return problems;
}

export function checkWorkload(workload: Workload, target: Target | undefined): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  const { operations, load_mode: mode, stages } = workload;
  if (mode === "QPS" && workload.target_qps === null && stages.length === 0) {
    const message = "expected operations a second: QPS has no other rate";
    problems.push({ path: "workload.target_qps", message });
  }
  if (mode !== "QPS" && workload.target_qps !== null) {
    const message = `only QPS has a rate; load_mode is ${mode}`;
    problems.push({ path: "workload.target_qps", message });
  }
  problems.push(...checkStages(mode, stages));
  const names = operations.map(({ name }) => name);
  for (const [at, { name, statements }] of operations.entries()) {
    const path = `workload.operations[${at}]`;
    if (names.indexOf(name) < at) {
      problems.push({ path: `${path}.name`, message: `there is another operation ${name}` });
    }
    if (statements.length === 0) {
      problems.push({ path: `${path}.statements`, message: "expected at least one statement" });
    }
  }
  if (!operations.some(({ weight }) => weight > 0)) {
    const message = "expected at least one operation with a weight above 0";
    problems.push({ path: "workload.operations", message });
  }
  return [...problems, ...(target === undefined ? [] : checkOperations(workload, target))];
}

/** As workers will compile them. */
function checkOperations({ operations }: Workload, target: Target): TemplateProblem[] {
  return operations.flatMap((document, at) => {
    const path = `workload.operations[${at}]`;
    if (document.expect_status !== undefined && target.kind !== "http") {
      const message = `only HTTP has statuses; target.kind is ${target.kind}`;
      return [{ path: `${path}.expect_status`, message }];
    }
    return refusalsOf(path, () => {
      const operation = resolveOperation(document, target);
      for (const sql of operation.statements) parseNamedStatement(sql);
      operationOf(readOperation(operation));
      return Object.entries(operation.parameters).flatMap(([name, value]) =>
        checkValue(`${path}.parameters.${name}`, value),
      );
    });
  });
}

function checkValue(path: string, value: WrittenValue): TemplateProblem[] {
  switch (value.kind) {
    case "key":
    case "integer":
    case "double": {
      const isWhole = value.kind === "double" || Number.isSafeInteger(value.max);
      if (value.max < value.min) return [{ path, message: "expected a max of at least min" }];
      return isWhole ? [] : [{ path, message: "expected whole numbers" }];
    }
    case "text":
      return value.length_max < value.length_min
        ? [{ path, message: "expected a length_max of at least length_min" }]
        : [];
    default:
      return [];
  }
}

function checkStages(
  mode: string,
  stages: readonly Workload["stages"][number][],
): TemplateProblem[] {
  if (stages.length === 0) return [];
  const path = "workload.stages";
  if (mode === "FIND_MAX_CONCURRENCY") {
    return [{ path, message: "FIND_MAX_CONCURRENCY makes its own steps" }];
  }
  return mode === "CONCURRENCY" && stages.some(({ target }) => !Number.isInteger(target))
    ? [{ path, message: "connections are whole" }]
    : [];
}

export function checkScaling(scaling: TemplateDocument["scaling"]): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  const pairs = [
    ["min_workers", "max_workers"],
    ["min_connections", "max_connections"],
  ] as const;
  for (const [min, max] of pairs) {
    const [least, most] = [scaling[min], scaling[max]];
    if (scaling.mode === "FIXED" && least === null) {
      problems.push({ path: `scaling.${min}`, message: "expected a number: FIXED uses it" });
    }
    if (least !== null && most !== null && least > most) {
      problems.push({ path: `scaling.${max}`, message: `expected at least ${min}` });
    }
  }
  return problems;
}

export function checkSlos(slos: readonly SloConfig[], workload: Workload): TemplateProblem[] {
  const names = workload.operations.map(({ name }) => name);
  const known = ["ALL", ...queryKinds, ...names];
  return slos.flatMap(({ of, metric }, at) => {
    const isWhole = metric === "availability_pct" || metric === "longest_silence";
    if (isWhole && of !== "ALL") {
      return [
        {
          path: `slos[${at}].of`,
          message: "expected ALL: it is of the target, not of an operation",
        },
      ];
    }
    if (known.includes(of)) return [];
    const meant = suggestField(of, known);
    const hint = meant === undefined ? known.join(", ") : `did you mean ${meant}?`;
    const message = `expected an operation, a kind or ALL; ${hint}`;
    return [{ path: `slos[${at}].of`, message }];
  });
}

export function checkPools({ operations }: Workload, pools: readonly string[]): TemplateProblem[] {
  return operations.flatMap(({ parameters }, at) =>
    Object.entries(parameters).flatMap(([name, value]) => {
      if (value.kind !== "pool" || pools.includes(value.pool)) return [];
      const path = `workload.operations[${at}].parameters.${name}.pool`;
      return [{ path, message: `there is no pool ${value.pool}` }];
    }),
  );
}

function refusalsOf(path: string, body: () => unknown): TemplateProblem[] {
  try {
    const found = body();
    return Array.isArray(found) && found.every((each) => typeof each === "object") ? found : [];
  } catch (error) {
    return [{ path, message: messageOf(error) }];
  }
}
