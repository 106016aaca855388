/** Templates: those that come with the product, and people's own. */
import { IconFileText } from "@tabler/icons-react";
import { Empty } from "../../../components/empty.tsx";

export function TemplatesPage() {
  return (
    <div className="card">
      <Empty icon={IconFileText} title="No template yet" />
    </div>
  );
}
