/** One template. */
import { IconFileText } from "@tabler/icons-react";
import { Empty } from "../../../components/empty.tsx";

export function TemplateEditor({ id }: { readonly id: string }) {
  return (
    <div className="card">
      <Empty icon={IconFileText} title={id} />
    </div>
  );
}
