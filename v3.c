/* odd ABIs */
volatile long sink; extern void ext(long); 
#define NI __attribute__((noinline,noclone))
NI __attribute__((ms_abi)) long ms(long a,long b,long c,long d,long e,double f){ ext(a); return a+b*c-d+e+(long)f; }
NI long callms(long a){ ext(a); return ms(a,1,2,3,4,5.0)+ms(1,a,a,a,a,a); }
NI __attribute__((sysv_abi)) long sv(long a){ return callms(a)+1; }
NI __attribute__((ms_abi)) long ms2(long a){ return sv(a)+callms(a+1); }
NI __attribute__((no_callee_saved_registers)) void ncs(long a){ ext(a); sink+=a; ext(sink); }
NI __attribute__((force_align_arg_pointer)) int fa(int a){ ext(a); _Alignas(32) volatile char b[64]; b[a]=1; ext((long)b); return b[a+1]; }
NI __attribute__((noreturn)) void die(long a){ ext(a); for(;;) ext(sink++); }
NI void mayDie(long a){ if(a>9) die(a); ext(a+1); }
NI __attribute__((optimize("no-omit-frame-pointer"))) long fpf(long a){ ext(a); return sink+a; }
NI long asmf(long a){ long r; __asm__ volatile("push %1\n\tpop %0":"=r"(r):"r"(a):"memory"); ext(r); return r; }
NI long clob(long a){ __asm__ volatile("":::"rbx","r12","r13","r14","r15"); ext(a); return a; }
NI long clobfp(long a){ __asm__ volatile("":::"rbx","r12","r13","r14","r15","rdi","rsi"); char b[a]; ext((long)b); return b[0]; }
NI long eh(long a){ __builtin_unwind_init(); ext(a); return a; }
NI void ehr(long off, void*h){ ext(off); __builtin_eh_return(off,h); }
NI long apply(long a){ void*r=__builtin_apply((void(*)())fpf,__builtin_apply_args(),64); __builtin_return(r); }
NI long sj(void**b){ extern int x; if(__builtin_setjmp(b)) { ext(1); return 1; } ext(2); return 0; }
NI void lj(void**b){ ext(3); __builtin_longjmp(b,1); }
NI long probe(long n){ volatile char b[20000]; b[n]=3; ext((long)b); return b[n]; }
NI long probev(long n){ volatile char b[n+5000]; b[n]=3; ext((long)b); volatile char c[n]; c[0]=1; ext((long)c); return b[n]; }
NI long tailp(long a){ ext(a); __attribute__((musttail)) return fpf(a+1); }
NI long trapf(long a){ if(a) __builtin_trap(); ext(a); return 3; }
NI long unre(long a){ ext(a); if(a<0) __builtin_unreachable(); switch(a){case 0: return 1; case 1: ext(2); return 2; case 2: ext(3); die(4);} __builtin_unreachable(); }
