"""A small thesaurus of workplace words, by which a text's words meet a task's, across four languages.

A row is a concept: English stems, then Spanish, German (stems may sit inside a compound) and Chinese. A task's words are
English; an artifact's are in any of the four.
"""

from __future__ import annotations

from typing import Final

_ROWS: Final = """
export extract dump pull | export extra descarg volcad | export auszug auszüg | 导出 提取 出口
send mail email forward transmit dispatch deliver ship | enví envia mand remit entreg | send schick versand verschick liefer | 发送 发给 发过 寄 发往 发出 送
share disclos hand pass give | compart divulg ced dar | teil weitergeb weitergab offenleg übergeb herausgab | 分享 共享 提供 交给 披露 移交
publish post air go-live broadcast | public difund emi | veröffentl publizier | 发布 公布 公开 刊登
upload load | sub carg | hochlad upload lade | 上传
delet purg eras remov wip destroy clear clean | borr elimin purg supr destru | lösch entfern vernicht bereinig | 删除 清除 清理 销毁
anonymi pseudonymi deidentif mask redact blur | anonim enmascar censur oculta | anonym mask schwärz unkenntlich | 匿名 脱敏 遮蔽 掩码 打码
enabl activat switch turn | activ encend habilit | aktivier einschalt anschalt | 启用 开启 激活
disabl deactivat | desactiv apag | deaktivier abschalt | 关闭 停用
open | abr apert | öffn | 打开 开通 开放
close | cerr cierre | schließ abschluss | 关闭 结案
pay payout settl disburs reimburs refund | pag abon reembols | zahl auszahl erstatt | 付款 支付 赔付 报销
buy purchas order procur | compr adquis pedid | kauf beschaff bestell anschaff | 采购 购买 订购
sign signature countersign | firm rúbrica | unterschr unterzeichn gegenzeichn signatur | 签字 签署 会签 签名
approv sanction | aprob aprueb visto | genehmig freigab freigeb billig zustimm | 批准 审批 同意
authori permission permit | autoriz permis | berechtig ermächtig erlaubnis befugnis | 授权 许可 准许
licen | licenci | lizenz | 许可 执照 牌照
consent | consent | einwillig zustimm einverständnis | 同意书 同意
exception exempt waiver varianc dispens derog | excepci dispens exenc varian derog salved | ausnahm befrei | 例外 豁免
review assess audit inspect check | revis evalua audit inspec | prüf überprüf begutacht | 审查 评审 审核 复核 检查 审计
confirm confirmation verif validat | confirm verific valida | bestätig nachweis verifizier | 确认 核实 验证 复检
receipt acknowledg record | recibo acuse justificante | beleg quittung empfangsbestät | 收据 回执 凭证
agreement contract nda treaty covenant | acuerdo contrat convenio confidencialidad | vereinbar vertrag abkommen | 协议 合同
amend addend annex extension extend | enmienda adenda modific ampliac prórrog ampli | nachtrag änderung erweiter verläng | 修订 补充协议 延期 扩展 扩大
rul decision interpret reading clarif determin verdict | decisión dictamen interpret aclar resoluc fallo lectura | entscheid auslegung klärung klarstell | 裁定 解释 澄清 认定 结论 说明
clearanc releas | liberac autorización liber | freigab freigeb | 放行 解禁 许可
lift | levant alz | aufheb aufhebung | 解除 撤销
hold freez litigation legal | retención litigio legal | sperr rechtsstreit litigation rechtlich | 冻结 诉讼 保全 法律
notice notif announce | aviso notif anunci | hinweis mitteil bescheid benachricht | 通知 告知 公告
report | inform reporte parte | bericht report | 报告
memo note minute | memor nota acta | memo vermerk notiz protokoll | 备忘 纪要 记录
log journal ledger | registr log bitácora | protokoll log | 日志 记录
record file data row dataset | registr dato fichero fila archiv expedient | daten datensatz datei zeile akte | 记录 数据 文件 档案
table list sheet spreadsheet | tabla lista hoja planilla | tabelle liste blatt | 表 列表 名单
summary synops abstract digest bulletin overview | resum sinops boletín síntes | zusammenfass übersicht bulletin | 摘要 概要 简报 梗概 公报 总结
public | públic | öffentlich | 公开 公共
anonymous aggregat total count statistic | agregad total recuento estadístic | aggregat summe gesamtzahl zahlen statistik | 汇总 总数 统计 合计 聚合
customer client subscriber member user | client abonad soci usuari | kunde kunden mitglied nutzer | 客户 用户 会员
patient clinic hospital medical health | pacient clínic hospital médic | patient klini krankenhaus medizin | 患者 病人 临床 医院 医疗
pupil student school teach | alumn estudiant escuel centro escolar | schüler schul student | 学生 学校
employ staff personnel worker contractor | emplead personal trabajador contratist | mitarbeit personal beschäftigt | 员工 职工 人员
supplier vendor partner retailer distribut dealer | proveedor soci minorista distribuid | lieferant partner händler vertrieb | 供应商 合作 零售商 经销商
investor shareholder | inversor accionist | investor anleger aktionär | 投资者 股东
press media journalist | prensa medio periodist | presse medien | 媒体 新闻
photo image picture footage video cut clip | foto imagen vídeo video corte | foto bild video aufnahm schnitt | 照片 图像 视频 影像 图片
map survey | mapa plano encuest levantamiento | karte plan vermess | 地图 测绘
draw design blueprint schema | plano dibuj diseñ esquem | zeichn entwurf plan | 图纸 设计 草图
script manuscript text draft | guion guión manuscrit text borrador | skript drehbuch manuskript text entwurf | 剧本 脚本 稿
result finding outcome figure number | resultad hallazg cifra | ergebnis befund zahl | 结果 数据 发现
test trial lab laboratory sample assay | prueba ensay laborator muestr | test versuch labor probe | 测试 试验 实验室 首检 检测 样本
batch lot | lote partida | charge los partie | 批次 批
label artwork packag sticker | etiquet envas | etikett verpackung aufkleber | 标签 包装
claim insur | siniestr reclam segur | schaden anspruch versicher | 索赔 理赔 保险
budget grant fund money | presupuest subvenc fond dinero | budget haushalt förder zuschuss mittel | 预算 拨款 资金
price cost fee invoice | preci cost tarifa factur | preis kosten gebühr rechnung | 价格 费用 发票
night overnight | noche nocturn | nacht nächt | 夜间 夜 晚上
day daytime | día diurn | tag tags | 白天 日间
noise | ruido | lärm | 噪声 噪音
site plant warehouse depot | sitio planta almacén obra emplazamient | standort werk lager baustell | 场地 仓库 工厂 现场 站点
phase stage | fase etapa | phase etappe stufe | 阶段 期
pilot | pilot | pilot | 试点
robot machine | robot máquin | roboter maschine | 机器人 机器
network | red | netz | 网络
firewall | cortafuegos | firewall | 防火墙
path route | ruta vía | route pfad | 路径 路由
access login account credential | acces cuenta credencial | zugang zugriff konto | 访问 权限 登录 账号
dashboard screen view portal | panel pantalla vista portal | dashboard ansicht bildschirm portal | 面板 视图 界面 门户
system server database | sistema servidor base | system server datenbank | 系统 服务器 数据库
backup copy archive | copia respald archiv | kopie sicherung archiv | 备份 副本 存档
forensic evidence | forens evidenci prueba | forens beweis | 取证 证据
timestamp clock stamp | hora marca reloj temporal | zeitstempel uhr | 时间戳
offset | desfase | versatz | 偏移
event incident | event incident | ereignis vorfall | 事件 事故
key token secret password | clave secret contraseñ | schlüssel geheim passwort | 密钥 秘密 密码
rule policy standard | regla política norma | regel richtlinie | 规则 政策 规定
change modif rewrit edit correct | cambi modific corrig reescrib | änder korrig umschreib | 更改 修改 变更 改写
retention retain keep | retenc conserv | aufbewahr | 保留 留存
transfer move migrat | transfer trasla | übertrag transfer verschieb | 传输 转移 迁移
present show demo | present mostr | präsent zeig vorstell | 展示 演示
quote cite paraphras | cit parafras | zitier zitat | 引用
attach insert includ embed | adjunt insert inclu | anhäng beifüg einfüg einbau | 附上 插入 纳入
call phone telephone dial | llam teléfono | anruf telefon ruf | 电话 致电
meeting session workshop | reunión sesión taller | sitzung treffen termin | 会议
chair president lead head | president jef direct | vorsitz leit | 主席 负责人 主任
officer inspector warden | oficial técnic inspector agente | beauftragt inspektor amt | 官 监察员 专员
board committee council panel | junta comité consej comisión | ausschuss gremium rat vorstand kommission | 委员会 理事会 董事会
counsel lawyer solicitor legal | asesor abogad jurídic letrad | jurist justiziar anwalt rechtsabteilung syndikus | 法务 律师 法律顾问
manager supervisor | gerent responsabl encargad gestor | manager leiter leiterin | 经理 主管
director | director | direktor leiter | 总监 主任
desk office bureau | mesa oficina | stelle büro amt desk | 处 办公室 台
controller | control interventor | controller controlling | 控制官 主计
custodian guardian keeper steward trustee | custodi guardi guarda fideicomis | hüter verwahr treuhänd verwalter kustos | 保管 监护 受托 管理员
sponsor owner | patrocinador promotor dueñ titular | sponsor eigner eigentümer | 发起人 所有者
authority agency | autoridad agencia | behörde amt | 机构 当局
quality | calidad | qualität | 质量
safety security | segurid | sicherheit | 安全
privacy protection | privacidad protecc | datenschutz schutz | 隐私 保护
rights | derechos | rechte | 权利 版权
brand market | marca mercado | marke marketing | 品牌 市场
finance treasur account | financ tesor contab | finanz schatzmeister buchhalt | 财务
second dual | segund doble | zweit doppel | 第二 双 复
first | primer | erst | 首 第一 初
full whole complete entire | complet total íntegr enter | voll gesamt ganz | 全额 全部 完整
interim provisional partial | provisional parcial interin | vorläuf zwischen teil abschlag | 临时 中期 预付 部分
limit threshold ceiling | límite tope | grenze limit | 限额 上限
current live valid | vigent actual | aktuell gültig laufend | 有效 现行 当前
expired lapsed | caducad vencid | abgelaufen | 过期
external outside | extern | extern außen | 外部
confidential secret restricted internal | confidencial reservad intern | vertraulich intern geheim | 机密 内部 保密
district region borough city | distrit región municip ciudad | bezirk region stadt | 区 地区 城市
house home household | hogar vivienda | haushalt haus | 家庭 户
meter read reading | contador lectura | zähler ablesung messwert | 电表 读数
plan roadmap programme program project | plan hoja program proyect | plan roadmap programm projekt | 计划 路线图 项目 方案
train train cours | formac curso | schulung kurs | 培训 课程
water gas power energ | agua gas energ | wasser gas strom energie | 水 燃气 电 能源
ship load cargo pallet truck | carga palé camión | fracht palette ladung lkw | 货 托盘 卡车
bridg road rail tunnel | puente carretera vía túnel | brücke straße bahn tunnel | 桥 道路 铁路 隧道
east | este oriental | ost | 东
west | oeste occidental | west | 西
north | norte | nord | 北
south | sur | süd | 南
borrower library book | lector bibliotec libro | leser bibliothek buch | 读者 图书
seal sealed lock | sellad precint | versiegel | 封存 密封
glossary guide manual specification interface | glosario guía manual especific interfaz | glossar handbuch spezifik schnittstell | 词汇表 指南 手册 规范 接口
sourc code repository software | fuente código repositori | quell code repositor software | 源 代码 仓库
transcript interview record audio | transcrip entrevist audio grabac | transkript interview audio aufnahm | 笔录 访谈 录音
salary wage pension payroll | salari sueld pensión nómina | gehalt lohn rente | 工资 薪资 养老金
vote election ballot | vot elecci | wahl stimm | 投票 选举
food allergen ingredient | aliment alérgen ingredient | lebensmittel allergen zutat | 食品 过敏原 成分
drug dose medicin pharmac | fármac dosis medicament | arznei medikament dosis | 药 剂量
vaccine biolog speci | vacun biológ especi | impf bio | 疫苗 生物
camera sensor device | cámara sensor dispositiv | kamera sensor gerät | 摄像头 传感器 设备
vehicle car bus fleet | vehícul coche bus flota | fahrzeug auto bus flotte | 车辆 汽车
flight aircraft drone | vuelo avión dron | flug flugzeug drohne | 航班 飞机 无人机
harbour port vessel | puerto buque | hafen schiff | 港口 船
farm crop field plot land | granja cultiv campo parcela tierra | acker feld parzell land | 农场 地块 田
forest tree | bosque árbol | wald baum | 森林 树
fell fall | tala | fäll | 采伐
building | edificio | gebäude | 大楼
floor | planta | etage stockwerk | 楼层
room | sala | raum | 房间
elevator lift | ascensor montacargas | aufzug | 电梯
voucher card ticket | vale tarjeta billet | gutschein karte ticket | 券 卡
scope cover includ | alcance ámbito abarca | umfang geltung reichweite | 范围
department division section | departament divisi sección | abteilung bereich referat | 部门 科室
flag tag mark | marc etiquet señal | markier kennzeich flagg | 标记 标注
reenact re-enact replay simulat | recrea simul | nachgestell nachstell simulat | 再现 模拟 重演
postcode zip postal area | postal zona | postleitzahl postgebiet plz | 邮编 邮区
address street | direcci calle domicili | adress anschrift straße | 地址 街
fare tariff rate | tarifa | tarif fahrpreis | 票价 资费 价目
offer promot | ofert promoci | angebot aktion | 优惠 促销 报价
discount rebate reduct | descuent rebaj | rabatt ermäßig nachlass | 折扣 优惠
group | grup | gruppe | 团体 小组
team crew squad | equip cuadrill brigad | team mannschaft kolonne trupp | 团队 班组
comment remark | comentari observaci | kommentar bemerkung anmerk | 意见 评论 批注 注释
value range valuation estimat | valor rango valora tasaci | wert spanne bewertung schätz | 估值 区间 估价
model | modelo | modell | 模型
escort accompan | escolt acompañ | begleit eskort | 陪同
badge pass permit-card | tarjet pase acreditac | ausweis badge | 工牌 通行证
synthetic dummy fake artificial made-up invented fictitious | sintétic fictici inventad | synthetisch künstlich erfunden | 合成 虚拟 虚构
illustrat drawn drawing figure sketch diagram | ilustrac dibuj bocet figur | illustration gezeichnet zeichn skizze abbild | 插图 示意图 草图
picture photo photograph image shot still | foto imagen | foto bild | 照片 图片
footage video film clip reel recording | vídeo video película grabaci | video film aufnahm clip | 录像 视频 影片
shift rota schedule roster | turno | schicht | 班次 轮班
week weekly | seman | woche | 周
credit voucher | crédit vale | gutschrift gutschein | 额度 抵用
overtime extra hours | horas extra | überstund mehrarbeit | 加班
merge combine join consolidat dedupl | fusion combin unir unific | zusammenführ verschmelz | 合并
renumber number | renumer numer | nummerier nummer | 编号
append add annotat | añad anex anot | anhäng ergänz hinzufüg | 附加 补充 添加
correct fix repair mend | correg repar arregl | korrig berichtig reparier | 更正 修正 修复
truncat prune shorten compact compress shrink | trunc compact comprim acort | kürz komprim verdicht | 截断 压缩
storage store keep cold | almacen guard | speicher lager aufbewahr | 存储 保存 冷存
evidence custody | prueba custodia | beweis asservat verwahr | 物证 证物 保管
lease rent tenan | alquil arrend inquilin | miet pacht | 租
furnish furniture | amuebl mobiliari mueble | möbl möbel | 家具
terrace patio | terraza | terrasse | 露台
class lesson course | clase lección | kurs unterricht stunde | 课
room hall studio | sala aula estudio | raum saal halle studio | 房间 教室 大厅 室
choir sing singer | coro cant | chor sing | 合唱
music track song | música pista canci | musik stück lied | 音乐 曲
gate lock sluice | compuert esclus | tor schleuse wehr | 闸
dam reservoir | presa embals | damm stausee talsperre | 坝
crane hoist | grúa | kran | 吊车 起重
track rail railway | vía ferrocarril | gleis bahn schiene | 轨道 铁路
verge shoulder kerb | arcén | bankett seitenstreif | 路肩
lift hoist raise | izar elev levant | heb hub | 吊装 起吊
deliver supply drop | entreg reparto sumin | liefer zustell | 配送 送货
morning early | mañana temprano | morgen früh | 早上 上午
permit licence | permiso licenci | genehmig erlaubnis | 许可 许可证
bonus premium tranche | bono prima tramo | bonus prämie tranche | 奖金 批
payroll salary wage | nómina salari | gehalt lohn | 工资
letter mail post | carta correo | brief schreiben | 信 信函
dictat transcri typing type | dict transcri mecanograf | diktat abschrift transkri | 听写 转录 打字
pool in-house inhouse internal | intern propi | intern eigen | 内部
accredit certif | acredit certific | akkredit zertifi | 认证 资质
waiver exempt | exenci dispens | verzicht befreiung ausnahme | 豁免
scan digit | escane digital | scan digital | 扫描
laptop computer notebook device | portátil ordenador equip | laptop rechner gerät notebook | 笔记本 电脑 设备
wipe erase | borr | lösch wisch | 擦除 清除
sell sale resale vend | vend venta | verkauf veräuß | 出售 转售 销售
recreation reconstruct | reconstruc | rekonstru | 重建
guest visitor | huésped visitant | gast besucher | 客人 住客
country nation | país nacion | land staat | 国家
plot parcel field | parcela | flurstück parzelle | 地块
fly flight sortie | vol vuelo | flieg flug beflieg | 飞
mandate assignment commission | mandat encarg | auftrag mandat | 委托 任务
share attribut portion part | parte cuota | anteil teil | 份额 部分
subcontract contractor | subcontrat contratist | subunternehm auftragnehm | 分包 承包
annex appendix attachment | anex apéndice | anhang anlage | 附件
treaty convention | tratad conveni | vertrag abkommen | 条约 协定
translat | traduc | übersetz | 译文 翻译
tender bid proposal | licitaci ofert propuest | ausschreib gebot angebot | 投标 标书
minutes | acta | protokoll niederschrift | 纪要
extract excerpt | extract | auszug | 摘录 节选
donor supporter giver | donant | spender | 捐赠 捐款
name names | nombre | namen | 姓名 名字
segment count | segment recuent | segment anzahl | 分组 人数
soil ground geolog | suelo terren geolog | boden geolog | 土壤 地质
"""

LANGUAGES: Final = ("en", "es", "de", "zh")
CONCEPTS: Final[tuple[dict[str, tuple[str, ...]], ...]] = tuple(
    dict(zip(LANGUAGES, (tuple(part.split()) for part in row.split("|")), strict=True))
    for row in _ROWS.strip().splitlines()
)
"""Concepts in their order; a concept's number is its name."""
