/** The error codes of samples, and of where they come from. */
import { declareErrorCodes } from "../../../../ground/kernel/error-codes.ts";

const codes = declareErrorCodes({
  bad_settings: { status: 400, exit: "usage" },
  head_moved: { status: 503, work: "backoff" },
});

declare module "../../../../ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof codes, true> {}
}
