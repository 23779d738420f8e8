#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <stdarg.h>
struct big { long a[40]; double d[9]; }; struct two {double x; long y;};
volatile long sink; int (*fp)(int); extern int ext(int, ...); 
#define NI __attribute__((noinline,noclone))
NI struct big mk(struct big b,int n){ b.a[n%40]+=n; b.d[n%9]*=1.5; return b; }
NI struct two tw(double a,long b){ return (struct two){a*b,b+a}; }
NI int sw(int n,const char*s){ switch(n){case 0:return strlen(s);case 1:return s[0]; case 2: return s[1]*3; case 3: sink++; return 7; case 4: return fp?fp(n):0; case 5: return atoi(s); case 6: puts(s); return 2; case 9: abort(); default: return n*n;} }
NI int many(int a,int b,int c,int d,int e,int f,int g,int h,int i,int j,double k,long double l){ return a+b*c-d+e*f-g+h*i+j+k+l; }
NI int callmany(int a){ return many(a,a+1,a+2,a+3,a+4,a+5,a+6,a+7,a+8,a+9,a*.5,a*.25L)+many(1,2,3,4,5,6,7,8,a,a,a,a); }
NI long loop(long*p,int n){ long s=0,t=1,u=2,v=3,w=4,x=5,y=6,z=7; for(int i=0;i<n;i++){ s+=p[i]*t; t^=s+u; u+=v*w; v-=x; w^=y; x+=z; y*=3; z+=s; if(s&0x100) sink+=sw(i,"12"); } return s+t+u+v+w+x+y+z; }
NI int tail(int n){ sink+=n; return n&1? callmany(n): sw(n,"abc"); }
NI int vla(int n){ char b[n+1]; memset(b,n,n+1); sink+=b[n/2]; if(n>3) return tail(n); char c[n*2+1]; memset(c,1,sizeof c); return c[n]+b[0]; }
NI int al(int n){ _Alignas(64) char b[128]; memset(b,n,128); sink+=b[n&63]; return callmany(b[3]); }
NI int va(const char*f,...){ va_list l,m; va_start(l,f); va_copy(m,l); int r=0; while(*f) switch(*f++){case 'd': r+=va_arg(l,int);break; case 'f': r+=va_arg(l,double);break; case 'l': r+=va_arg(l,long);} r+=va_arg(m,int); va_end(m); va_end(l); return r; }
NI int shrink(long*p){ if(!p) return 0; if(!*p) return 1; long r=loop(p,10); return r+callmany(r&7)+loop(p,3); }
NI int huge(int n){ char b[70000]; b[n]=1; sink+=sw(n&7,b); memset(b,2,sizeof b); return b[n*3]; }
NI void nr(int n){ printf("%d\n",n); if(n) exit(0); abort(); }
NI double fl(double a,double b,double c,double d){ double x=a*b,y=c*d,z=a-d; for(int i=0;i<5;i++){ x+=strtod("1.5",0)*y; y-=z*atoi("2"); z*=x; } return x+y+z; }
NI __attribute__((cold)) int coldf(int n){ return printf("cold %d\n",n); }
NI int hotcold(int n){ if(__builtin_expect(n>100,0)){ coldf(n); return callmany(n);} return sw(n,"hc"); }
NI int ret_addr(void){ return (long)__builtin_return_address(0)!=0; }
NI int frame_addr(void){ return (long)__builtin_frame_address(0)&7; }
NI __int128 i128(__int128 a,__int128 b){ return a/b+a%b; }
NI int goto_c(int n){ static void*t[]={&&a,&&b,&&c}; int r=0; next: if(n<=0) return r; goto *t[n%3]; a: r+=sw(0,"q"); n--; goto next; b: r+=2; n-=2; goto next; c: r+=callmany(n); n--; goto next; }
NI int rec(int n){ return n<2?n:rec(n-1)+rec(n-2); }
int main(int c,char**v){ struct big b={0}; b=mk(b,c); sink+=b.a[1]; struct two t=tw(1.5,c); sink+=t.y; for(int i=0;i<8;i++) sink+=sw(i,"42"); fp=tail; sink+=sw(4,"4")+callmany(3); long p[12]={1,2,3,4,5,6,7,8,9,10,11,0x100}; sink+=loop(p,12)+tail(3)+tail(2)+vla(2)+vla(9)+al(c)+va("dfl",1,2.0,3L)+shrink(0)+shrink(p)+huge(c)+fl(1,2,3,4)+hotcold(1)+hotcold(200)+ret_addr()+frame_addr()+(int)i128(99,7)+goto_c(7)+rec(7); nr(1); }
