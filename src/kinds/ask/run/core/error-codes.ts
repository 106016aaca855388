/** The error codes of PromQL queries. */
import { declareErrorCodes } from "../../../../ground/kernel/error-codes.ts";

const codes = declareErrorCodes({
  bad_promql: { status: 422, work: "never" },
});

declare module "../../../../ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof codes, true> {}
}
