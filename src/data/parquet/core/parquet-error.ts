/** Errors for files that cannot be read. */
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** The bytes contradict themselves or the format. */
export function corrupt(message: string): OperatingError {
  return new OperatingError("artifact_corrupt", "never", `corrupt Parquet file: ${message}`);
}

/** Perhaps correct Parquet, but with features that this codec does not have. */
export function unsupported(message: string): OperatingError {
  return new OperatingError("unsupported", "never", `unsupported Parquet file: ${message}`);
}
