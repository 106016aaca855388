/** Shown while a page's code is loading. */
import { Loader } from "@mantine/core";

export function PageLoading() {
  return (
    <div className="empty" role="status">
      <Loader size="sm" />
      Loading…
    </div>
  );
}
