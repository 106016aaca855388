/** Why something was refused, and what to do about it. */
import { ApiError } from "../api/http.ts";

export function Failure({ title, error }: { readonly title: string; readonly error: Error }) {
  const hint = error instanceof ApiError ? error.hint : undefined;
  return (
    <div className="failure" role="alert">
      <strong>{title}</strong>
      <p className="failure-message">{error.message}</p>
      {hint !== undefined && <span className="dim">{hint}</span>}
    </div>
  );
}
