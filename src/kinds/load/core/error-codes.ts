/** The error codes of load tests' targets. */
import { declareErrorCodes } from "../../../ground/kernel/error-codes.ts";

const codes = declareErrorCodes({
  target_refused: { status: 502 },
  target_unreachable: { status: 502 },
});

declare module "../../../ground/kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof codes, true> {}
}
