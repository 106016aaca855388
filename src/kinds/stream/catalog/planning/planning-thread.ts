/** A thread that plans statements, one request at a time. It keeps the newest definitions. */
import "../error-codes.ts";
import "../../language/index.ts";
import { assert } from "../../../../ground/kernel/errors.ts";
import { trimWhenIdle } from "../../../../ground/kernel/node/trim-when-idle.ts";
import { servePeer } from "../../../../ground/threads/index.ts";
import { dialects } from "../../language/core/index.ts";
import { planStatements } from "../core/planning/plan-statements.ts";
import {
  type Definitions,
  type PlanningOptions,
  type PlanningThread,
  plannerErrors,
} from "./planner-talk.ts";

servePeer<PlanningThread, PlanningOptions>(({ dialect }) => {
  let known: Definitions | undefined;
  trimWhenIdle();
  return {
    requests: {
      plan: ({ statements, definitions, ...request }) => {
        known = definitions ?? known;
        assert(known !== undefined, "the first request has the definitions");
        return planStatements(statements, { ...known, ...request }, dialects[dialect]);
      },
    },
    notes: {},
  };
}, plannerErrors);
