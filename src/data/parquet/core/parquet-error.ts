/** How a file that is not what it should be is refused. Both are the outside world's failures. */
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** The bytes contradict themselves or what the format allows. */
export function corrupt(message: string): OperatingError {
  return new OperatingError("artifact_corrupt", "never", `corrupt Parquet file: ${message}`);
}

/** Correct Parquet, perhaps, but nothing that this codec knows. */
export function unsupported(message: string): OperatingError {
  return new OperatingError("unsupported", "never", `unsupported Parquet file: ${message}`);
}
