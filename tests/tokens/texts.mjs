// Texts of many kinds, by name. Random ones are the same in every run.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

let state = 20260118;
export function random() {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return state / 0x80000000;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
export const many = (n, make) => Array.from({ length: n }, make);
const hex = (n) => many(n, () => below(16).toString(16)).join("");
export const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
const bytes = (n) => Buffer.from(many(n, () => below(256)));

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const read = (...path) => readFileSync(join(root, ...path), "utf8");
const files = (dir, end) => readdirSync(join(root, dir)).filter((name) => name.endsWith(end)).map((name) => read(dir, name));

export const prose = {
  english: `The migration failed because the clock of the second machine was nine minutes behind, so every lease looked
as if it had expired. We now compare monotonic times only. The on-call engineer restarted both services at once, which
made things worse: neither of them could become the leader. Whoever reads this later: check chrony first, and don't
restart anything until you've looked at the offsets. She'd warned us about it in March, hadn't she?`,
  japanese: `検索の結果が遅いときは、まずデータベースの索引を確認してください。先週の会議で決まったとおり、リリースは火曜日の午前中に
行います。ユーザーは短い説明を好み、コミットの題名は日本語ではなく英語で書きます。パッケージマネージャーは pnpm を使い、テストは必ず
プッシュの前に実行すること。設定ファイルの場所はプロジェクトごとに異なるので、README を読んでから変更してください。`,
  katakana: `コンピューター プログラミング アーキテクチャ データベース サーバー クライアント メモリー コンパイラー デバッガー インターフェース
プロトコル ストレージ バックアップ スケジューラー ネットワーク セキュリティー`,
  chinese: `如果搜索结果不准确，请先检查索引是否已经更新。上周的会议决定，每个版本都在星期二上午发布。用户希望说明简短，提交信息使用英文。
数据库选择了 SQLite，因为这个工具在笔记本电脑上运行，不需要单独的服务器。测试必须在推送之前全部通过，否则需要写明原因。`,
  traditional: `如果搜尋結果不正確，請先檢查索引是否已經更新。上週的會議決定，每個版本都在星期二上午發布。使用者希望說明簡短，
提交訊息使用英文。資料庫選擇了 SQLite，因為這個工具在筆記型電腦上執行，不需要另外的伺服器。`,
  korean: `검색 결과가 정확하지 않으면 먼저 색인이 갱신되었는지 확인하세요. 지난주 회의에서 결정한 대로 모든 버전은 화요일 오전에
배포합니다. 사용자는 짧은 설명을 좋아하고 커밋 메시지는 영어로 씁니다. 데이터베이스는 SQLite를 선택했는데, 이 도구가 노트북에서
별도의 서버 없이 실행되기 때문입니다.`,
  thai: `หากผลการค้นหาไม่ถูกต้อง โปรดตรวจสอบก่อนว่าดัชนีได้รับการปรับปรุงแล้วหรือไม่ ที่ประชุมเมื่อสัปดาห์ที่แล้วตัดสินใจว่าจะออกรุ่นใหม่
ทุกวันอังคารตอนเช้า ผู้ใช้ชอบคำอธิบายสั้น ๆ และเขียนข้อความคอมมิตเป็นภาษาอังกฤษ ฐานข้อมูลที่เลือกคือ SQLite เพราะเครื่องมือนี้ทำงานบนแล็ปท็อป`,
  arabic: `إذا كانت نتائج البحث غير دقيقة فتحقق أولا من تحديث الفهرس. قرر الاجتماع في الأسبوع الماضي أن تصدر كل نسخة صباح يوم الثلاثاء.
يفضل المستخدم الشرح القصير، وتكتب رسائل الإيداع باللغة الإنجليزية. اخترنا قاعدة البيانات SQLite لأن الأداة تعمل على الحاسوب المحمول.`,
  hebrew: `אם תוצאות החיפוש אינן מדויקות, בדקו תחילה אם האינדקס עודכן. בישיבה של השבוע שעבר הוחלט שכל גרסה תצא ביום שלישי בבוקר.`,
  russian: `Если результаты поиска неточны, сначала проверьте, обновлён ли индекс. На прошлой неделе решили, что каждая версия
выходит во вторник утром. Пользователь предпочитает короткие пояснения, а сообщения коммитов пишет по-английски.`,
  greek: `Αν τα αποτελέσματα της αναζήτησης δεν είναι ακριβή, ελέγξτε πρώτα αν το ευρετήριο έχει ενημερωθεί.`,
  hindi: `यदि खोज के परिणाम सही नहीं हैं, तो पहले जाँचें कि सूचकांक अद्यतन हुआ है या नहीं। पिछले सप्ताह की बैठक में तय हुआ कि हर संस्करण
मंगलवार की सुबह जारी होगा।`,
  german: `Wenn die Suchergebnisse ungenau sind, prüfe zuerst, ob der Schlüsselwortindex aktualisiert wurde. In der Besprechung
der vergangenen Woche wurde beschlossen, Veröffentlichungen dienstagvormittags vorzunehmen; Ausnahmegenehmigungen erteilt
die Geschäftsführung. Datenbankverbindungen werden wiederverwendet.`,
  french: `Si les résultats de la recherche sont imprécis, vérifiez d'abord que l'index a été mis à jour. Lors de la réunion de la
semaine dernière, il a été décidé que chaque version paraîtrait le mardi matin, à moins qu'un défaut grave n'ait été trouvé.`,
  finnish: `Jos hakutulokset eivät ole tarkkoja, tarkista ensin, onko hakemisto päivitetty. Viime viikon kokouksessa päätettiin,
että jokainen versio julkaistaan tiistaiaamuna. Käyttäjä haluaa lyhyitä selityksiä ja kirjoittaa muutosviestit englanniksi.`,
  vietnamese: `Nếu kết quả tìm kiếm không chính xác, trước hết hãy kiểm tra xem chỉ mục đã được cập nhật chưa. Cuộc họp tuần trước
đã quyết định phát hành mỗi phiên bản vào sáng thứ Ba.`,
  turkish: `Arama sonuçları doğru değilse önce dizinin güncellenip güncellenmediğini denetleyin. Geçen haftaki toplantıda her
sürümün salı sabahı yayımlanmasına karar verildi.`,
};

const emoji = ["😀", "🎉", "👍🏽", "👨‍👩‍👧‍👦", "🇯🇵", "❤️", "🚀", "✅", "⚠️", "🤖", "🐛", "🥲", "🏳️‍🌈"];
const printable = many(95, (_, i) => String.fromCharCode(32 + i));
const joined = (n, list, by = "") => many(n, () => pick(list)).join(by);
const note = (text, i) => ({ id: hex(8), groupId: "lessons", title: text.slice(0, 40), text, tags: ["rule", "v2.1.3"],
  createdAt: "2026-11-18T20:15Z", score: below(1000) / 1000, passage: { begin: i * 117, end: i * 117 + text.length } });
const answer = (texts) => JSON.stringify({ results: texts.map(note), meta: { filtered: { inProject: 25 }, omitted: 7 } });

const kinds = {
  uuids: () => many(20, uuid).join("\n"),
  "uuids as JSON": () => JSON.stringify(many(20, () => ({ id: uuid(), score: random() }))),
  base64: () => bytes(400).toString("base64"),
  base64url: () => bytes(400).toString("base64url"),
  hex: () => bytes(300).toString("hex"),
  "hex in capitals": () => bytes(300).toString("hex").toUpperCase(),
  urls: () => many(12, () => `https://${pick(["github.com", "example.org"])}/${pick(["fumi", "sqlite"])}/${hex(7)}/src/main.c?q=${
    encodeURIComponent(pick(["日本語", "hello world", "a+b=c&d"]))}#L${below(999)}`).join("\n"),
  paths: () => many(15, () => `/usr/${pick(["lib", "share"])}/x86_64-linux-gnu/${hex(6)}/${pick(["libcurl.so.4.8.0", "__init__.py"])}`).join("\n"),
  numbers: () => many(60, () => String(below(10 ** (1 + below(9))))).join(pick([" ", ",", ", ", "\n"])),
  decimals: () => many(60, () => String((random() - 0.5) * 10 ** below(9))).join(" "),
  times: () => many(30, () => new Date(1.7e12 + random() * 1e11).toISOString()).join(" "),
  "white space": () => joined(150, [" ", "  ", "    ", "\n", "\n\n", "\t", "\r\n", "\t\t", " ".repeat(40)]),
  "white space of one character": () => joined(400, [..." \n\t\r"]),
  "white space as JSON": () => JSON.stringify(joined(150, ["  ", "\n", "\t", "\r\n", "    "])),
  indented: () => many(40, () => " ".repeat(below(30)) + pick(["x", "foo", "return 1;", "}", "5"])).join("\n"),
  "random ASCII": () => joined(600, printable),
  "random ASCII as JSON": () => JSON.stringify(joined(600, printable)),
  "random letters": () => joined(500, [..."abcdefghijklmnopqrstuvwxyz"]),
  "random capitals": () => joined(500, [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"]),
  "random letters of both cases": () => joined(500, [..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"]),
  "random short words": () => many(120, () => joined(1 + below(9), [..."abcdefghijklmnopqrstuvwxyz"])).join(" "),
  punctuation: () => joined(500, printable.filter((c) => /[^ 0-9A-Za-z]/.test(c))),
  emoji: () => joined(120, emoji),
  "emoji in prose": () => many(10, () => `${pick(emoji)} ${prose.english.slice(below(200)).slice(0, 60)}`).join(" "),
  "control characters": () => joined(150, many(32, (_, i) => String.fromCharCode(i))),
  "control characters as JSON": () => JSON.stringify(joined(150, many(32, (_, i) => String.fromCharCode(i)))),
  "invisible characters": () => joined(150, ["\u200b", "\u200d", "\ufeff", "\u202e", "\u00ad", "\u2028", "a"]),
  "box drawing": () => joined(200, [..."─│┌┐└┘├┤┬┴┼═║╔╗╚╝ █▀▄░▒▓"]),
  mathematics: () => joined(200, [..."∀∂∈ℝ∧∪≡∞↑↗↨∑∏√∫≤≥≠±×÷αβγδ "]),
  kana: () => joined(200, [..."あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもアイウエオカキクケコサシスセソ"]),
  answers: () => answer(many(1 + below(5), () => prose.english.slice(below(250)).slice(0, 20 + below(200)))),
  "answers in Japanese": () => answer(many(1 + below(5), () => prose.japanese.slice(below(150)).slice(0, 20 + below(80)))),
  "short answers": () => answer(many(1, () => prose.english.slice(below(300)).slice(0, 20))),
};

const parts = (text, n) => many(Math.ceil(text.length / n), (_, i) => text.slice(i * n, (i + 1) * n));

// [name, text] of all texts; each is long enough that single characters do not decide.
export function* texts() {
  for (const [name, text] of Object.entries(prose)) {
    yield [name, text];
    yield [`${name} as JSON`, JSON.stringify({ text })];
    yield [`the beginning of ${name}`, [...text].slice(0, 60).join("")];
  }
  for (const [name, make] of Object.entries(kinds)) for (let i = 0; i < 20; i++) yield [`${name} ${i}`, make()];
  for (const n of [1, 2, 3, 7, 8, 9, 80, 81, 1000]) for (const c of " \n\t") yield [`${n} of U+${c.charCodeAt(0)}`, c.repeat(n)];
  for (const [dir, end] of [["src/net", ".c"], ["docs", ".md"], ["tests/mcp", ".mjs"], ["tests/memory-talks", ".talk"], ["bench", ".mjs"]])
    for (const file of files(dir, end)) for (const [i, part] of parts(file, 2000).entries()) yield [`${dir} ${i}`, part];
}
